#pragma once
/// Low modes of A^dagger A are kept in compressed storage and deflate solves of A x = b.
#include <string>
#include <vector>

#include "trellis/field/linear_operator.hpp"
#include "trellis/solver/krylov_method.hpp"
#include "trellis/solver/prepared.hpp"

namespace trellis {

class Eigenvectors final : public Prepared {
 public:
  std::vector<double> values;             ///< they are the eigenvalues of A^dagger A, which ascend
  std::vector<double> relative_residual;  ///< they are |A^dagger A v - lambda v| / upper, in double before
                                          ///< compression
  std::vector<SpinorField> vectors;  ///< they have one right-hand side each, are orthonormal, and have the
                                     ///< chosen storage
  std::vector<SpinorField> images;   ///< they are A v, where they are kept (keep_images)
  double upper = 0;                  ///< this bounds the spectrum
  std::string operator_name;
  bool converged = false;
  int restarts = 0, degree = 0;
  double cutoff = 0;
  double tolerance = 1e-8;  ///< the search asked for this
  double seconds = 0, flops = 0, bytes = 0;

  int count() const { return int(values.size()); }
  std::string name() const override;
  size_t memory() const override;

  /// Adds sum_i v_i <v_i, A^dagger (b - A x)> / lambda_i to x for every right-hand side, with A in double.
  void deflate(const LinearOperator& A, SpinorField& x, const SpinorField& b, SolveCost& cost) const;
  /// Computes A v of all vectors, so that a deflated solver of A that stands inside another one needs no
  /// application for its modes. @pre the vectors have the storage of A
  void keep_images(const LinearOperator& A, SolveCost& cost);
  /// Computes x = sum_i v_i <A v_i, b> / lambda_i, and r = b - A x. @pre images are kept; fields have A's
  /// storage
  void deflate_by_images(SpinorField& x, SpinorField& r, const SpinorField& b, SolveCost& cost) const;
  /// Throws BadArgument unless these can be vectors of A: its domain, and |A v_0|^2 = lambda_0 to 5 %.
  void require_belong_to(const LinearOperator& A) const override;
  /// Says whether they have the lattice, parity and slices of A's fields, in whatever storage. @pre count()
  /// >= 1
  bool are_like_fields_of(const LinearOperator& A) const;
  /// Returns as many modes of A, which are searched from mixtures of these to the same tolerance and kept in
  /// the same storage.
  PreparedPtr updated(const LinearOperatorPtr& A) const override;
};

}  // namespace trellis
