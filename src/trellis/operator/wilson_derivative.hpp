#pragma once
/// The Wilson-clover operator has a derivative by its links, as bilinear forms Re Y^dagger D X and log det A
/// (kernels/dirac/wilson_derivative.hpp).
#include <optional>

#include "trellis/field/link_derivative.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/operator/wilson_params.hpp"

namespace trellis {

class WilsonLinkDerivative {
 public:
  explicit WilsonLinkDerivative(const WilsonParams& params) : params_{params} {}

  /// Begins a sum for these links. All fields that follow lie where they do. This and all below are
  /// collective.
  void begin(const GaugeField& V);
  /// Adds to G c times the derivative of Re Y^dagger D X, summed over right-hand sides; the clover part is
  /// kept until finish(). @pre X, Y full, in double, with V's lanes
  void add(LinkDerivative& G, const SpinorField& Y, const SpinorField& X, double c);
  /// Adds c times the derivative of log det A over the sites of one parity; A^-1 is that of clover_inverse().
  void add_log_determinant(const SpinorField& inverse, int parity, double c);
  /// Adds the clover part to G.
  void finish(LinkDerivative& G);

  /// One add() takes so many per site (a finish() for each begin() comes on top).
  double flops(int rhs) const;
  double bytes(int rhs) const;  ///< one add() must move so many per site

 private:
  void make_tables();
  void require_alike(const LinkDerivative& G) const;
  void add_clover_part(LinkDerivative& G);
  WilsonParams params_;
  std::optional<GaugeField> V_;
  std::optional<LinkDerivative> pair_, insertion_;
  SiteTablesPtr tables_;
  Memory weights_;
};

}  // namespace trellis
