#pragma once
/// Sources of propagators have twelve columns, one for each spin and colour, or for staggered quarks three
/// columns of colour vectors, one for each colour.
#include <string>

#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/source/site_source.hpp"
#include "trellis/measure/gaussian_smearing.hpp"
#include "trellis/measure/momenta.hpp"

namespace trellis {

/// It tells which columns a source has.
enum class SourceKind {
  spinor,        ///< there are 12 right-hand sides of spinors: column = 3 spin + colour
  colour_vector  ///< there are 3 right-hand sides of colour vectors: column = colour
};

/// A source is not zero on these sites of a time slice.
enum class SourceSites {
  all,
  corners  ///< x, y and z are even: one site of every cube, as all eight local staggered operators need it
};

struct Source {
  SpinorField columns;      ///< the field is full, in double, of one of the kinds
  Coord at{0, 0, 0, 0};     ///< times and momenta of correlators are counted from here (global coordinates)
  std::string description;  ///< provenance tells it
};

inline bool has_site(SourceSites sites, const Coord& x) {
  return sites == SourceSites::all || (x[0] % 2 == 0 && x[1] % 2 == 0 && x[2] % 2 == 0);
}

/// Makes a zero field for the columns of a kind.
SpinorField source_columns(const LatticePtr& lattice, SourceKind kind, Backend backend = {});
SourceKind kind_of(const Source& source);
/// Returns the field on a backend.
SpinorField moved_to(const SpinorField& field, Backend backend);

/// Sets zero columns to the shape's number, each in its own component, where they lie. The shape's phases are
/// those of `phases`.
void set_columns(SpinorField& columns, SourceShape shape, const MomentumPhases& phases);
/// Calls f(call) for the sites of each parity of a full field on a GPU.
template <class F>
void for_each_parity(SpinorField& field, const SourceShape& shape, const F& f) {
  for (int parity = 0; parity < 2; ++parity)
    f(SiteSourceCall{field.raw(parity), field.reals(), field.layout().blocks(),
                     SiteCoordinates(field.geometry(), parity), shape});
}

/// Makes the source whose column (spin, colour) is one at the site `at` and zero elsewhere.
/// @pre 0 <= at < extents
Source point_source(const LatticePtr& lattice, const Coord& at, SourceKind kind = SourceKind::spinor,
                    Backend backend = {});

/// Makes the source whose column (spin, colour) is exp(i p.x) at every site of time slice `time`, or at its
/// corners; the place `at` is (0, 0, 0, time). It is not gauge covariant.
Source wall_source(const LatticePtr& lattice, int time, const Momentum& n = {0, 0, 0},
                   SourceKind kind = SourceKind::spinor, SourceSites sites = SourceSites::all,
                   Backend backend = {});

/// Returns the source smeared on its time slice, spinors by gaussian_smearing.hpp and colour vectors by
/// two_hop_smearing.hpp; `links` may be smeared ones. It lies where the links lie.
/// @pre the source lies on the time slice source.at[3]
Source smeared(const Source& source, const GaugeField& links, const GaussianSmearing& smearing);

/// Returns the source times exp(+i p.(x - at)): a sink with exp(-i p.(x - at)) then projects on momentum
/// transfer zero.
Source with_momentum(const Source& source, const Momentum& n);

}  // namespace trellis
