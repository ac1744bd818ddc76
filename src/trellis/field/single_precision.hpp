#pragma once
/// Links, derivatives and algebra elements go between double and single precision, for forces that are
/// computed in single precision. Both have this build's lanes, so that their site orders differ: they are 8
/// and 16 with AVX-512.
#include <vector>

#include "trellis/field/algebra_field.hpp"
#include "trellis/field/link_derivative.hpp"

namespace trellis {

class SinglePrecisionMap {
 public:
  /// Makes the map for fields that are laid out like U. @pre U is in double precision on the CPU
  explicit SinglePrecisionMap(const GaugeField& U);
  /// Returns whether this is the map for U.
  bool fits(const GaugeField& U) const { return twin_of_ == &U.site_tables(); }

  /// Makes unit links in single precision on U's lattice.
  GaugeField make_single(const GaugeField& U) const;

  /// Copies the inner links of one, rounded or widened to the other's precision; out's halo is stale
  /// afterwards. It moves both fields once.
  void convert(GaugeField& out, const GaugeField& in) const;
  void convert(LinkDerivative& out, const LinkDerivative& in) const;
  /// Computes out += in, from single to double precision.
  void add(AlgebraField& out, const AlgebraField& in) const;

 private:
  /// Each inner block and lane of a target has block * lanes + lane of its source here.
  struct Origins {
    std::vector<int32_t> blocks, places;
    int to_lanes, from_lanes;
    Origins(const ExtendedLayout& to, const ExtendedLayout& from);
  };
  const Origins& origins(Precision to, int to_lanes, int from_lanes) const;
  void convert(const RawField& out, Precision to, int to_lanes, const RawField& in, int from_lanes) const;
  const GaugeTables* twin_of_;
  int single_lanes_, halo_;
  Origins to_single_, to_double_;
};

}  // namespace trellis
