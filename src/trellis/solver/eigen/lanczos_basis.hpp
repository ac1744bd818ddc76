#pragma once
/// A block Lanczos with thick restarts has this basis.
#include <cstdint>

#include "trellis/solver/eigen/chebyshev_filter.hpp"
#include "trellis/solver/eigen/hermitian_matrix.hpp"

namespace trellis {

using Vectors = std::vector<SpinorField>;  ///< they have one right-hand side each

/// Computes w -= h v.
void subtract(SpinorField& w, std::complex<double> h, const SpinorField& v);
/// Returns sum_i m[i] v_i for each mixture m.
Vectors mixed(const Vectors& vectors, const std::vector<std::vector<std::complex<double>>>& mixtures,
              SolveCost& cost);

/// It holds orthonormal basis vectors, the next block, and the filtered operator between them.
class LanczosBasis {
 public:
  LanczosBasis(const LinearOperator& A, int block, uint64_t seed, SolveCost& cost)
      : A_{A}, block_{block}, seed_{seed}, cost_{cost} {}

  /// Forgets everything and starts from a block.
  void begin(Vectors block);
  void begin_at_random();
  /// Lets the next block join the basis; what the filter makes of it, orthogonalised, is the new block.
  /// Without a filter -A takes its place.
  void extend(const ChebyshevFilter* filter);
  /// Replaces the basis by its `keep` best Ritz vectors (largest Ritz values).
  void restart(int keep);
  /// Returns the Ritz values of the filtered operator, ascending.
  std::vector<double> ritz_values() const { return diagonalise(matrix_).values; }
  int size() const { return int(basis_.size()); }
  const Vectors& vectors() const { return basis_; }
  Vectors take() { return std::move(basis_); }

 private:
  void orthogonalise(SpinorField& w, int column);
  void orthonormalise_block(Vectors& block);
  void grow_matrix(int size);

  const LinearOperator& A_;
  int block_;
  uint64_t seed_;
  SolveCost& cost_;
  Vectors basis_, next_;
  DenseMatrix matrix_;  ///< its entries are <v_i, P v_j>
  uint32_t random_numbers_ = 0;
};

}  // namespace trellis
