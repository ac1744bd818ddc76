#pragma once
/// Wilson, Wilson-clover and twisted-mass operators act on the whole lattice, and have even-odd Schur
/// complements.
///
///   M = A - 1/2 H,  A = 1 + 3 nu/xi0 + m + clover term + i mu gamma5        (doc/conventions.md)
///   asymmetric  S = A_ee - 1/4 H_eo A_oo^-1 H_oe
///   symmetric   S = 1 - 1/4 A_ee^-1 H_eo A_oo^-1 H_oe
#include "trellis/field/schur_operator.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis {

/// It holds links, clover term and parameters in one storage, which the operators below share.
class WilsonMatrix {
 public:
  WilsonMatrix(const GaugeField& U, const WilsonParams& params, const KernelChoice& choice);
  /// Returns the same matrix in another storage (with 12-real links where this one has them).
  std::shared_ptr<const WilsonMatrix> converted(Precision precision) const;

  const WilsonParams& params() const { return params_; }
  const std::shared_ptr<const GaugeField>& gauge_field() const { return U_; }
  const KernelChoice& choice() const { return hop_->choice(); }
  const HoppingTerm& hop() const { return *hop_; }
  const Lattice& lattice() const { return *hop_->lattice_ptr(); }

  /// Compute out = A in on the sites of one parity, and out = A^-1 in.
  void apply_diagonal(SpinorField& out, const SpinorField& in, int parity, bool is_dagger) const;
  void apply_diagonal_inverse(SpinorField& out, const SpinorField& in, int parity, bool is_dagger) const;
  /// Does the same for the blocks of a range. @pre can_fuse_diagonal()
  void apply_diagonal_inverse(SpinorField& out, const SpinorField& in, int parity, bool is_dagger,
                              const SiteRange& sites) const;
  /// Computes out = A^-1 (coefficient H in).
  void apply_inverse_hop(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                         bool is_dagger) const;
  /// Computes out = A x + coefficient H in, or out = x + coefficient H in where with_diagonal is false. This
  /// and the next also give |out|^2 if asked to, where a hop is what they do last; else they leave it empty.
  void apply_hop_plus(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                      const SpinorField& x, bool with_diagonal, bool is_dagger,
                      Coefficients* norm2 = nullptr) const;
  /// Computes out = x + A^-1 (coefficient H in).
  void apply_inverse_hop_plus(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                              const SpinorField& x, bool is_dagger, Coefficients* norm2 = nullptr) const;
  /// Return what makes a hop one of these three. @pre can_fuse_diagonal()
  HopTask inverse_hop(double coefficient, bool is_dagger) const;
  HopTask hop_plus(double coefficient, const SpinorField& x, bool with_diagonal, bool is_dagger) const;
  HopTask inverse_hop_plus(double coefficient, const SpinorField& x, bool is_dagger) const;
  /// Tells whether A and A^-1 are part of a hop, which they are not with a clover term and a twisted mass.
  bool can_fuse_diagonal() const { return !has_twisted_clover(); }
  /// Tells whether A is a real number, which commutes with H.
  bool has_real_diagonal() const { return !clover_ && params_.twisted_mass == 0; }

  /// Return the parts of A and A^-1, 72 reals a site in the storage of the hop, null where there are none.
  /// With a twisted mass and a clover term A^-1 = C - i mu gamma5 B has two.
  const SpinorField* clover() const { return clover_.get(); }
  const SpinorField* clover_inverse() const { return clover_inverse_.get(); }
  const SpinorField* twisted_inverse() const { return twisted_inverse_.get(); }
  /// Returns a + i b, which stands for a + i b gamma5, where there is no clover term.
  std::complex<double> diagonal(bool is_dagger) const;
  std::complex<double> inverse_diagonal(bool is_dagger) const;

  /// A or A^-1 takes so many launches beside a hop.
  int diagonal_launches() const { return can_fuse_diagonal() ? 0 : 1; }
  /// Returns the flops of one A or A^-1 at a site, and then the bytes of its reals.
  double diagonal_flops(bool is_inverse) const;
  double diagonal_bytes(bool is_inverse) const;

 private:
  bool has_twisted_clover() const { return clover_ && params_.twisted_mass != 0; }
  /// Computes out = [sum +] A in, or A^-1 in, with a clover term and a twisted mass. Works in place.
  void twisted_clover(SpinorField& out, const SpinorField& in, int parity, bool is_dagger, bool is_inverse,
                      const SpinorField* sum) const;
  /// Computes out = coefficient H in.
  void hop_alone(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                 bool is_dagger) const;
  void run(SpinorField& out, int parity, const SpinorField& in, const HopTask& task,
           Coefficients* norm2) const;
  std::shared_ptr<const GaugeField> U_;  ///< it is kept to build the matrix in other storages
  WilsonParams params_;
  std::shared_ptr<const HoppingTerm> hop_;
  std::shared_ptr<const SpinorField> clover_, clover_inverse_;
  /// A twisted mass needs it; clover_inverse_ is C then.
  std::shared_ptr<const SpinorField> twisted_inverse_;
};
using WilsonMatrixPtr = std::shared_ptr<const WilsonMatrix>;

/// Applies M to full fields.
class WilsonOperator final : public LinearOperator {
 public:
  explicit WilsonOperator(WilsonMatrixPtr matrix) : matrix_{std::move(matrix)} {}
  WilsonOperator(const GaugeField& U, const WilsonParams& params, const KernelChoice& choice = {});

  FieldSpec domain(int columns = 1) const override {
    return matrix_->hop().field_spec(Subset::full, columns);
  }
  const LatticePtr& domain_lattice() const override { return matrix_->hop().lattice_ptr(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::shared_ptr<const SchurOperator> schur(SchurForm form) const override;
  std::string name() const override;
  const WilsonMatrixPtr& matrix() const { return matrix_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  WilsonMatrixPtr matrix_;
};

/// It is the Schur complement on the sites of one parity, with the preparation and reconstruction that solve
/// M x = b.
class WilsonSchur final : public SchurOperator {
 public:
  /// The parity is that of the sites that remain (0 = even, the default).
  WilsonSchur(WilsonMatrixPtr matrix, SchurForm form, int parity = 0);

  FieldSpec domain(int columns = 1) const override {
    return matrix_->hop().field_spec(subset_of(parity_), columns);
  }
  const LatticePtr& domain_lattice() const override { return matrix_->hop().lattice_ptr(); }
  Cost cost(int columns) const override { return cost_of_form(columns, false); }
  Cost dagger_cost(int columns) const override { return cost_of_form(columns, true); }
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;

  /// Makes the right-hand side of the Schur system: b_e + 1/2 H_eo A_oo^-1 b_o (symmetric: times A_ee^-1).
  void prepare_source(SpinorField& schur_source, const SpinorField& b) const override;
  void prepare_guess(SpinorField& guess, const SpinorField& x) const override { extract_parity(guess, x); }
  /// Makes x_o = A_oo^-1 (b_o + 1/2 H_oe x_e).
  void reconstruct(SpinorField& x, const SpinorField& schur_solution, const SpinorField& b) const override;
  Cost source_cost(int columns) const override;
  Cost reconstruction_cost(int columns) const override;
  LinearOperatorPtr full() const override { return std::make_shared<WilsonOperator>(matrix_); }
  int parity() const { return parity_; }
  SchurForm form() const { return form_; }
  std::string form_in_words() const override {
    return form_ == SchurForm::symmetric ? "even-odd (symmetric)" : "even-odd (asymmetric)";
  }

 private:
  /// |out|^2 is summed by the last hop, where that ends the operator.
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  void run(SpinorField& out, const SpinorField& in, bool is_dagger, Coefficients* norm2) const;
  Cost cost_of_form(int columns, bool is_dagger) const;
  /// Return the costs of A^-1 in, and of x + coefficient H in, on half the sites.
  Cost inverse_diagonal_cost(int columns) const;
  Cost hop_plus_cost(int columns) const;
  /// Tells whether A^-1 in comes first, in a launch of its own.
  bool begins_with_diagonal(bool is_dagger) const;
  void run_fused(SpinorField& out, const SpinorField& in, bool is_dagger, Coefficients* norm2) const;
  SpinorField& workspace(int which, int parity, int rhs) const;
  WilsonMatrixPtr matrix_;
  SchurForm form_;
  int parity_;
  mutable std::map<std::array<int, 3>, std::unique_ptr<SpinorField>> workspace_;
};

}  // namespace trellis
