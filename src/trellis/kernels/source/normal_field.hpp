#pragma once
/// Fields of complex normal numbers have <|eta|^2> = 1 and are keyed by the site in the whole lattice, so
/// that no bit depends on lanes, ranks or the backend (doc/random_numbers.md). A number takes one draw: two
/// logarithms and a sine and cosine.
#include "trellis/algebra/random.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct NormalFieldCall {
  RawField out;
  const int64_t* sites = nullptr;  ///< it has [block][lane] global index
  RandomKey key;
  RandomPurpose purpose{};
  uint32_t trajectory = 0;
  uint32_t first_draw = 0;  ///< it belongs to slot 0; slot s begins 256 s draws later
  int reals = 24;           ///< an object has so many, an even number up to 512
  int slots = 1;
};

template <class Layout, class Storage>
class NormalField {
 public:
  using Elements = SiteElements<Layout, Storage>;
  using Real = typename Elements::Real;
  explicit NormalField(const NormalFieldCall& call) : call_{call}, out_{call.out, call.reals} {}

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    constexpr double root_half = 0.70710678118654757;  // this double is nearest to its square root
    const SiteRandom<Real> random(call_.key, call_.purpose, call_.trajectory,
                                  load_integers<Real>(call_.sites + size_t(block) * Elements::W));
    for (int c = 0; c < call_.reals / 2; ++c) {
      const std::array<Real, 2> g =
          random.gaussian_pair(call_.first_draw + (uint32_t(slot) << 8) + uint32_t(c));
      const Real r[2] = {Real(root_half) * g[0], Real(root_half) * g[1]};
      out_.store(block, slot, 2 * c, r, Real(1.0));
    }
  }

 private:
  NormalFieldCall call_;
  Elements out_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_normal_field(const NormalFieldCall& call, const SiteRange& sites);

}  // namespace trellis
