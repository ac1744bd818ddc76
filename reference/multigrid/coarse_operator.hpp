#pragma once
/// Prolongation, restriction and the Galerkin operator lead to the next level (doc/operators/multigrid.md):
///
///   P^dagger P = 1,   gamma5 P = P gamma5,   D_c = P^dagger D P
#include "reference/multigrid/blocks.hpp"
#include "reference/multigrid/level_operator.hpp"

namespace trellis::reference {

/// P has test vectors, cut into aggregates and chiralities and made orthonormal in each. The site X of the
/// next level is the aggregate of that index. Its component k belongs to vector k with chirality +1,
/// component n + k to vector k with chirality -1.
class Prolongator {
 public:
  /// Does Gram-Schmidt in the order of the vectors, twice, with positive norms.
  /// @pre there is a vector, and at most as many as an aggregate has components of one chirality; all have
  /// `components` numbers on each site of the lattice. Throws NumericError where a vector depends on those
  /// before it.
  Prolongator(const Blocks& aggregates, int components, std::vector<LevelVector> test_vectors);

  const Blocks& aggregates() const { return aggregates_; }
  int vectors() const { return int(columns_.size()); }  ///< it is n
  int fine_components() const { return components_; }
  /// Returns the orthonormal vectors: column (X, k) of P is vector k on the sites of X, with chirality +1
  /// alone.
  const std::vector<LevelVector>& columns() const { return columns_; }

  LevelVector prolong(const LevelVector& coarse) const;  ///< it returns P v
  LevelVector restrict(const LevelVector& fine) const;   ///< it returns P^dagger v

 private:
  void orthonormalise(int64_t aggregate, int chirality);
  int chirality_of(size_t component) const { return int(component) < components_ / 2 ? 0 : 1; }

  Blocks aggregates_;
  int components_;
  std::vector<LevelVector> columns_;
};

/// It is D_c, stored as A(X) and F_mu(X). B_mu(X) = gamma5 F_mu(X-mu)^dagger gamma5, for hops are
/// gamma5-hermitian.
class CoarseOperator final : public LevelOperator {
 public:
  CoarseOperator(const LevelOperator& D, const Prolongator& P);

  const Matrix& self(int64_t X) const { return self_[size_t(X)]; }  ///< it is A(X)
  /// it is F_mu(X)
  const Matrix& forward_leg(int64_t X, int mu) const { return forward_[size_t(4 * X + mu)]; }
  const Matrix& even_chirality(int64_t X) const { return even_[size_t(X)]; }  ///< it is E(X)

  void add_self(Complex<double>* out, int64_t X, const Complex<double>* in) const override;
  void add_leg(Complex<double>* out, int64_t X, int step, const Complex<double>* in) const override;
  void add_even_chirality(Complex<double>* out, int64_t X, const Complex<double>* in) const override;

  /// Returns the coarse operator of D + mass + i mu gamma5 + i rho E, which is exact, since P^dagger P = 1
  /// and gamma5 P = P gamma5.
  CoarseOperator shifted(double mass, double twisted_mass, double even_twisted_mass = 0) const;

 private:
  void add_column(const LevelOperator& D, const Prolongator& P, int column);

  std::vector<Matrix> self_, forward_, even_;
};

}  // namespace trellis::reference
