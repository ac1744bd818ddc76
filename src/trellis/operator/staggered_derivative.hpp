#pragma once
/// Even-odd staggered quadratic forms have this derivative with respect to the links of the operator.
#include "trellis/field/link_derivative.hpp"
#include "trellis/operator/staggered.hpp"

namespace trellis {

/// Adds to G the derivative of S = sum_k c_k X_k^dagger (M^dagger M) X_k at fixed X, X even, for any number
/// of right-hand sides k: delta S = sum Re tr(G delta V), V the links of the operator,
///
///   G_mu(x) = +- u_mu(x) sum_k c_k Z_k(x+mu) Z_k(x)^dagger,  + on odd x,  Z = X on even, D_oe X on odd
///   sites.
///
/// A rational action phi^dagger [a_0 + sum_k a_k / (M^dagger M + s_k)] phi has c_k = -a_k and X_k = (M^dagger
/// M + s_k)^-1 phi. With improved links `far` gets the derivative with respect to the long links.
class StaggeredLinkDerivative {
 public:
  /// @pre the matrix is in double
  explicit StaggeredLinkDerivative(StaggeredMatrixPtr matrix);

  /// X[k] are even fields in double of the matrix's layout; coefficients[k] holds for all right-hand sides of
  /// X[k]. far is needed for improved links, and null for naive ones. @pre G lies where the fields do and has
  /// their lanes
  void add(LinkDerivative& G, LinkDerivative* far, const std::vector<const SpinorField*>& X,
           const std::vector<double>& coefficients) const;
  double flops(int rhs) const;  ///< one add() takes so many, on all ranks
  double bytes(int rhs) const;  ///< one add() must move so many, on all ranks

 private:
  /// All right-hand sides lie in one field, Z on each parity, with their coefficients.
  struct Gathered {
    std::unique_ptr<SpinorField> even, odd;
    std::vector<double> coefficients;
    KernelTable<double> table;
  };
  void add_products(LinkDerivative& G, int distance, const Gathered& Z) const;
  VectorHalo& halo(int distance, int parity, int rhs) const;
  StaggeredMatrixPtr matrix_;
  mutable std::map<std::array<int, 3>, std::unique_ptr<VectorHalo>> halos_;
  mutable std::map<int, Gathered> gathered_;
};

}  // namespace trellis
