#include "trellis/measure/source.hpp"

#include <algorithm>
#include <functional>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/on_device.hpp"
#include "trellis/measure/two_hop_smearing.hpp"

namespace trellis {

SpinorField source_columns(const LatticePtr& lattice, SourceKind kind, Backend backend) {
  FieldSpec spec;
  spec.backend = backend;
  spec.rhs = kind == SourceKind::spinor ? 12 : 3;
  spec.reals = kind == SourceKind::spinor ? spinor_reals : colour_vector_reals;
  return SpinorField(lattice, spec);
}

SourceKind kind_of(const Source& source) {
  return source.columns.reals() == spinor_reals ? SourceKind::spinor : SourceKind::colour_vector;
}

SpinorField moved_to(const SpinorField& field, Backend backend) {
  if (field.spec().backend == backend) return field;
  FieldSpec spec = field.spec();
  spec.backend = backend;
  spec.lanes = 0;
  SpinorField moved(field.lattice_ptr(), spec);
  convert(moved, field);
  return moved;
}

namespace {
/// Sets column (spin, colour) to the value at local site x.
void set_diagonal(SpinorField& field, const Coord& x, std::complex<double> value) {
  const SitePosition at = field.layout().position(x);
  for (int column = 0; column < field.rhs(); ++column) {
    double site[24] = {};
    site[2 * column] = value.real();
    site[2 * column + 1] = value.imag();
    field.set_site(at, column, site);
  }
}

/// Calls f(local coordinates) for all local sites.
void for_each_local_site(const Geometry& g, const std::function<void(const Coord&)>& f) {
  for_each_index(int(g.local_volume()), [&](int site) { f(site_coord(site, g.local())); });
}

std::string text(const Momentum& n) { return message("(", n[0], ", ", n[1], ", ", n[2], ")"); }
}  // namespace

void set_columns(SpinorField& columns, SourceShape shape, const MomentumPhases& phases) {
  const Backend backend = columns.spec().backend;
  const DevicePhases table(phases, backend);
  shape.phases = table.table();
  const bool is_done = on_device(backend, [&]<class Layout>() {
    for_each_parity(columns, shape, [](const SiteSourceCall& call) { launch_set_source<Layout>(call); });
  });
  if (is_done) return;
  for_each_local_site(columns.geometry(), [&](const Coord& local) {
    const Coord x = columns.geometry().to_global(local);
    if (!shape.contains(&x[0])) return;
    const Complex<double> z = shape.value(&x[0]);
    set_diagonal(columns, local, {z.re, z.im});
  });
}

Source point_source(const LatticePtr& lattice, const Coord& at, SourceKind kind, Backend backend) {
  for (int mu = 0; mu < Nd; ++mu)
    TRELLIS_REQUIRE(at[mu] >= 0 && at[mu] < lattice->extents()[mu], "source site ", at[0], ", ", at[1], ", ",
                    at[2], ", ", at[3], " lies outside the lattice ", to_string(lattice->extents()));
  Source source{source_columns(lattice, kind, backend), at,
                message("point source at (", at[0], ", ", at[1], ", ", at[2], ", ", at[3], ")")};
  SourceShape shape;
  shape.is_point = true;
  std::copy(at.begin(), at.end(), shape.at);
  set_columns(source.columns, shape, MomentumPhases(lattice->extents(), zero_momentum, at));
  return source;
}

Source wall_source(const LatticePtr& lattice, int time, const Momentum& n, SourceKind kind, SourceSites sites,
                   Backend backend) {
  const Geometry& g = lattice->geometry();
  TRELLIS_REQUIRE(time >= 0 && time < g.lattice()[3], "time slice ", time, " of a wall source is not in 0..",
                  g.lattice()[3] - 1);
  const Coord at{0, 0, 0, time};
  const std::string where = sites == SourceSites::corners ? ", corners of cubes" : "";
  Source source{source_columns(lattice, kind, backend), at,
                message("wall source at t = ", time, where, ", momentum ", text(n))};
  SourceShape shape;
  shape.time = time;
  shape.has_corners = sites == SourceSites::corners;
  set_columns(source.columns, shape, MomentumPhases(g.lattice(), {n}, at));
  return source;
}

Source smeared(const Source& source, const GaugeField& links, const GaussianSmearing& smearing) {
  Source result{moved_to(source.columns, links.backend()), source.at, source.description};
  const bool is_spinor = kind_of(source) == SourceKind::spinor;
  if (is_spinor)
    smear_gaussian(result.columns, links, smearing, source.at[3]);
  else
    smear_two_hops(result.columns, links, smearing, source.at[3]);
  result.description += message(", Gaussian smearing ", is_spinor ? "" : "by two hops ", "of width ",
                                smearing.width, " in ", smearing.steps, " steps");
  return result;
}

Source with_momentum(const Source& source, const Momentum& n) {
  Source result = source;
  SpinorField& field = result.columns;
  const Geometry& g = field.geometry();
  const MomentumPhases phases(g.lattice(), {n}, source.at);
  const DevicePhases table(phases, field.spec().backend);
  SourceShape shape;
  shape.phases = table.table();
  const bool is_done = on_device(field.spec().backend, [&]<class Layout>() {
    for_each_parity(field, shape, [](const SiteSourceCall& call) { launch_times_phases<Layout>(call); });
  });
  if (!is_done)
    for_each_local_site(g, [&](const Coord& local) {
      const SitePosition at = field.layout().position(local);
      const Complex<double> z = shape.value(&g.to_global(local)[0]);
      for (int column = 0; column < field.rhs(); ++column) {
        double site[24] = {};
        field.get_site(at, column, site);
        for (int k = 0; k < field.reals(); k += 2) multiply_entry(z, site[k], site[k + 1]);
        field.set_site(at, column, site);
      }
    });
  result.description += message(", momentum ", text(n));
  return result;
}

}  // namespace trellis
