#pragma once
/// Improved staggered actions have fat and long links, HISQ's two levels, and the derivative through them (E.
/// Follana et al., hep-lat/0610092; A. Bazavov et al., arXiv:1004.0342). doc/operators/hisq.md lists the
/// coefficients.
#include <cstdint>
#include <vector>

#include "trellis/field/link_derivative.hpp"

namespace trellis {

/// These are the weights of the link and of each path of 3, 5 and 7 links, and of each straight path of 5
/// links (Lepage).
struct FatCoefficients {
  double one_link = 1, three_link = 0, five_link = 0, seven_link = 0, lepage = 0;
};
FatCoefficients fat7_coefficients();
/// Returns the second level of HISQ: Fat7 with twice Lepage's term; together with long links weighted -(1 +
/// epsilon) / 24 it has no errors of order a^2.
FatCoefficients hisq_coefficients(double epsilon = 0);
/// Returns asqtad with the tadpole factor u0; its long links have the weight asqtad_long_coefficient(u0).
FatCoefficients asqtad_coefficients(double u0);
double asqtad_long_coefficient(double u0);
/// Returns -(1 + epsilon) / 24, which StaggeredLinks takes with HISQ links.
inline double hisq_long_coefficient(double epsilon = 0) { return -(1.0 + epsilon) / 24.0; }

/// Returns the sum of the weighted paths from x to x + mu. Collective.
GaugeField fat_links(const GaugeField& U, const FatCoefficients& coefficients);
/// Adds to of_U the derivative through fat_links() of a function with the derivative `of_fat`. Collective.
void add_fat_links_derivative(LinkDerivative& of_U, const GaugeField& U, const FatCoefficients& coefficients,
                              const LinkDerivative& of_fat);

/// Make N_mu(x) = W_mu(x) W_mu(x+mu) W_mu(x+2mu), and the derivative through it. Collective.
GaugeField long_links(const GaugeField& W);
void add_long_links_derivative(LinkDerivative& of_W, const GaugeField& W, const LinkDerivative& of_long);

/// Returns W = V (V^dagger V)^(-1/2) of each link.
GaugeField project_links_to_u3(const GaugeField& V);

/// It makes all links of HISQ from the gauge field:
///   V = fat7(U),  W = projection of V to U(3),  X = asq(W),  N = long links of W.
class HisqLinks {
 public:
  explicit HisqLinks(const GaugeField& U);

  /// Returns the links of one-site hops for a flavour with Naik epsilon: X + (epsilon / 8) W.
  GaugeField fat(double epsilon = 0) const;
  const GaugeField& long_field() const { return long_; }
  const GaugeField& projected() const { return W_; }

  /// It has the derivatives of a flavour's action by its fat and long links, and its Naik epsilon.
  struct FlavourDerivative {
    const LinkDerivative* of_fat = nullptr;
    const LinkDerivative* of_long = nullptr;
    double epsilon = 0;
  };
  /// Where the smallest eigenvalue of V^dagger V is below this, all three are raised by it in the derivative.
  static constexpr double default_cut = 5e-5;
  /// Adds to of_U the derivative through both levels. Returns the number of links at which an eigenvalue was
  /// below the cut, of all ranks. Collective.
  int64_t add_derivative(LinkDerivative& of_U, const std::vector<FlavourDerivative>& flavours,
                         double cut = default_cut) const;

 private:
  GaugeField U_, V_, W_, X_, long_;
};

}  // namespace trellis
