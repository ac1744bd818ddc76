#include "trellis/measure/noise.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/on_device.hpp"

namespace trellis {

namespace {
/// Noise for so many sites times columns is made between two looks at whether to stop.
constexpr int sites_of_part = 1 << 17;

const char* name_of(NoiseKind kind) {
  return kind == NoiseKind::z2 ? "Z2" : kind == NoiseKind::z4 ? "Z4" : "U(1)";
}

SiteNoise site_noise(const Geometry& geometry, const Noise& noise, RandomPurpose purpose) {
  SiteNoise numbers{noise.kind, purpose, random_key(noise.seed, noise.stream), noise.configuration, {}};
  std::copy(geometry.lattice().begin(), geometry.lattice().end(), numbers.extents);
  return numbers;
}
}  // namespace

Source noise_source(const LatticePtr& lattice, const Noise& noise, int time, SourceKind kind,
                    SourceSites sites, Backend backend) {
  TRELLIS_REQUIRE(time == all_times || (time >= 0 && time < lattice->extents()[3]), "time slice ", time,
                  " of a noise source is not in 0..", lattice->extents()[3] - 1);
  Source source{source_columns(lattice, kind, backend),
                {0, 0, 0, time == all_times ? 0 : time},
                message(name_of(noise.kind), " noise source ", noise.index, ", seed ", noise.seed,
                        ", stream ", noise.stream, ", configuration ", noise.configuration,
                        time == all_times ? std::string(", all times") : message(", t = ", time),
                        sites == SourceSites::corners ? ", corners of cubes" : "")};
  SourceShape shape;
  shape.time = time == all_times ? SourceShape::every_time : time;
  shape.has_corners = sites == SourceSites::corners;
  shape.is_noise = true;
  shape.noise = site_noise(lattice->geometry(), noise, RandomPurpose::source_noise);
  shape.draw = noise.index;
  set_columns(source.columns, shape, MomentumPhases(lattice->extents(), zero_momentum, source.at));
  return source;
}

void set_trace_noise(SpinorField& field, const Noise& noise) {
  const Geometry& g = field.geometry();
  if (field.precision() != Precision::double_precision) {
    FieldSpec spec = field.spec();
    spec.precision = Precision::double_precision;
    spec.lanes = 0;
    SpinorField in_double(field.lattice_ptr(), spec);
    set_trace_noise(in_double, noise);
    return convert(field, in_double);
  }
  SourceShape shape;
  shape.noise = site_noise(g, noise, RandomPurpose::trace_noise);
  shape.draw = noise.index;
  const bool is_done = on_device(field.spec().backend, [&]<class Layout>() {
    for_each_parity(field, shape, [](const SiteSourceCall& call) { launch_set_noise<Layout>(call); });
  });
  if (is_done) return;
  const uint32_t components = uint32_t(field.reals() / 2);
  const int sites = int(g.local_volume()), part = std::max(1, sites_of_part / field.slots());
  const auto set_site = [&](int site) {
    const Coord local = site_coord(site, g.local()), x = g.to_global(local);
    for (int slot = 0; slot < field.slots(); ++slot) {
      double reals[24] = {};
      for (uint32_t c = 0; c < components; ++c) {
        const Complex<double> z = shape.noise(&x[0], components * (noise.index + uint32_t(slot)) + c);
        reals[2 * c] = z.re;
        reals[2 * c + 1] = z.im;
      }
      field.set_site(field.layout().position(local), slot, reals);
    }
  };
  for (int first = 0; first < sites; first += part) {
    stop_together(field.lattice_ptr()->communicator());
    for_each_index(std::min(part, sites - first), [&](int i) { set_site(first + i); });
  }
}

SpinorField noise_vectors(const LatticePtr& lattice, const Noise& noise, int count, Backend backend) {
  TRELLIS_REQUIRE(count >= 1, "the number of noise vectors is ", count);
  FieldSpec spec;
  spec.rhs = count;
  spec.backend = backend;
  SpinorField field(lattice, spec);
  set_trace_noise(field, noise);
  return field;
}

}  // namespace trellis
