#include "trellis/measure/noise.hpp"

#include "trellis/algebra/lane_math.hpp"
#include "trellis/algebra/random.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
std::complex<double> draw(const SiteRandom<double>& random, NoiseKind kind, uint32_t number) {
  if (kind == NoiseKind::z2) return random.z2(number);
  if (kind == NoiseKind::u1) {
    const SinCos<double> phase = sin_cos_2pi(random.uniform_pair(number)[0]);
    return {phase.cos, phase.sin};
  }
  const Complex<double> z = random.z4(number);
  return {z.re, z.im};
}

const char* name_of(NoiseKind kind) {
  return kind == NoiseKind::z2 ? "Z2" : kind == NoiseKind::z4 ? "Z4" : "U(1)";
}

/// Calls f(random numbers of the site, global coordinates, position) for all local sites.
template <class F>
void for_each_site_random(const SpinorField& field, const Noise& noise, RandomPurpose purpose, const F& f) {
  const Geometry& g = field.geometry();
  const RandomKey key = random_key(noise.seed, noise.stream);
  for_each_index(int(g.local_volume()), [&](int site) {
    const Coord local = site_coord(site, g.local());
    f(SiteRandom<double>(key, purpose, noise.configuration, uint64_t(g.global_index(local))),
      g.to_global(local), field.layout().position(local));
  });
}
}  // namespace

Source noise_source(const LatticePtr& lattice, const Noise& noise, int time, SourceKind kind,
                    SourceSites sites) {
  TRELLIS_REQUIRE(time == all_times || (time >= 0 && time < lattice->extents()[3]), "time slice ", time,
                  " of a noise source is not in 0..", lattice->extents()[3] - 1);
  Source source{source_columns(lattice, kind),
                {0, 0, 0, time == all_times ? 0 : time},
                message(name_of(noise.kind), " noise source ", noise.index, ", seed ", noise.seed,
                        ", stream ", noise.stream, ", configuration ", noise.configuration,
                        time == all_times ? std::string(", all times") : message(", t = ", time),
                        sites == SourceSites::corners ? ", corners of cubes" : "")};
  for_each_site_random(source.columns, noise, RandomPurpose::source_noise,
                       [&](const SiteRandom<double>& random, const Coord& x, const SitePosition& at) {
                         if (time != all_times && x[3] != time) return;
                         if (!has_site(sites, x)) return;
                         const std::complex<double> eta = draw(random, noise.kind, noise.index);
                         for (int column = 0; column < source.columns.rhs(); ++column) {
                           std::complex<double> site[12] = {};
                           site[column] = eta;
                           source.columns.set_site(at, column, reinterpret_cast<const double*>(site));
                         }
                       });
  return source;
}

SpinorField noise_vectors(const LatticePtr& lattice, const Noise& noise, int count) {
  TRELLIS_REQUIRE(count >= 1, "the number of noise vectors is ", count);
  FieldSpec spec;
  spec.rhs = count;
  SpinorField field(lattice, spec);
  for_each_site_random(field, noise, RandomPurpose::trace_noise,
                       [&](const SiteRandom<double>& random, const Coord&, const SitePosition& at) {
                         for (int r = 0; r < count; ++r) {
                           std::complex<double> site[12];
                           for (uint32_t c = 0; c < 12; ++c)
                             site[c] = draw(random, noise.kind, 12 * (noise.index + uint32_t(r)) + c);
                           field.set_site(at, r, reinterpret_cast<const double*>(site));
                         }
                       });
  return field;
}

}  // namespace trellis
