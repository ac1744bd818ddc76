#pragma once
/// Sources and traces take noise: numbers of modulus one that are functions of the seed and the global site
/// (doc/random_numbers.md), so that a GPU draws the CPU's.
#include "trellis/algebra/random.hpp"
#include "trellis/lattice/coord.hpp"

namespace trellis {

enum class NoiseKind {
  z2,  ///< it draws +1, -1
  z4,  ///< it draws 1, i, -1, -i
  u1   ///< it draws exp(2 pi i u), u uniform
};

struct SiteNoise {
  NoiseKind kind = NoiseKind::z4;
  RandomPurpose purpose = RandomPurpose::source_noise;
  RandomKey key;
  uint32_t configuration = 0;
  int extents[Nd] = {1, 1, 1, 1};  ///< they are those of the whole lattice

  /// Returns the number of a draw at the site with the global coordinates x.
  TRELLIS_SITE_FN Complex<double> operator()(const int* x, uint32_t number) const {
    const uint64_t site =
        uint64_t(x[0]) + uint64_t(extents[0]) *
                             (uint64_t(x[1]) + uint64_t(extents[1]) *
                                                   (uint64_t(x[2]) + uint64_t(extents[2]) * uint64_t(x[3])));
    const SiteRandom<double> random(key, purpose, configuration, site);
    if (kind == NoiseKind::z2) return {random.z2(number), 0.0};
    if (kind == NoiseKind::z4) return random.z4(number);
    const SinCos<double> phase = sin_cos_2pi(random.uniform_pair(number)[0]);
    return {phase.cos, phase.sin};
  }
};

}  // namespace trellis
