#include "trellis/measure/source.hpp"

#include <functional>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/two_hop_smearing.hpp"

namespace trellis {

SpinorField source_columns(const LatticePtr& lattice, SourceKind kind) {
  FieldSpec spec;
  spec.rhs = kind == SourceKind::spinor ? 12 : 3;
  spec.reals = kind == SourceKind::spinor ? spinor_reals : colour_vector_reals;
  return SpinorField(lattice, spec);
}

SourceKind kind_of(const Source& source) {
  return source.columns.reals() == spinor_reals ? SourceKind::spinor : SourceKind::colour_vector;
}

namespace {
/// Column (spin, colour) = value at local site x.
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

Source point_source(const LatticePtr& lattice, const Coord& at, SourceKind kind) {
  for (int mu = 0; mu < Nd; ++mu)
    TRELLIS_REQUIRE(at[mu] >= 0 && at[mu] < lattice->extents()[mu], "source site ", at[0], ", ", at[1], ", ",
                    at[2], ", ", at[3], " lies outside the lattice ", to_string(lattice->extents()));
  Source source{source_columns(lattice, kind), at,
                message("point source at (", at[0], ", ", at[1], ", ", at[2], ", ", at[3], ")")};
  if (lattice->geometry().owns(at)) set_diagonal(source.columns, lattice->geometry().to_local(at), 1.0);
  return source;
}

Source wall_source(const LatticePtr& lattice, int time, const Momentum& n, SourceKind kind,
                   SourceSites sites) {
  const Geometry& g = lattice->geometry();
  TRELLIS_REQUIRE(time >= 0 && time < g.lattice()[3], "time slice ", time, " of a wall source is not in 0..",
                  g.lattice()[3] - 1);
  const Coord at{0, 0, 0, time};
  const std::string where = sites == SourceSites::corners ? ", corners of cubes" : "";
  Source source{source_columns(lattice, kind), at,
                message("wall source at t = ", time, where, ", momentum ", text(n))};
  const MomentumPhases phases(g.lattice(), {n}, at);
  for_each_local_site(g, [&](const Coord& local) {
    const Coord x = g.to_global(local);
    if (x[3] == time && has_site(sites, x)) set_diagonal(source.columns, local, std::conj(phases(0, x)));
  });
  return source;
}

Source smeared(const Source& source, const GaugeField& links, const GaussianSmearing& smearing) {
  Source result = source;
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
  for_each_local_site(g, [&](const Coord& local) {
    const SitePosition at = field.layout().position(local);
    const std::complex<double> z = std::conj(phases(0, g.to_global(local)));
    for (int column = 0; column < field.rhs(); ++column) {
      std::complex<double> site[12] = {};
      field.get_site(at, column, reinterpret_cast<double*>(site));
      for (auto& entry : site) entry *= z;
      field.set_site(at, column, reinterpret_cast<const double*>(site));
    }
  });
  result.description += message(", momentum ", text(n));
  return result;
}

}  // namespace trellis
