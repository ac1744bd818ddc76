#pragma once
/// Domain-wall fermions, Shamir and Moebius, live on fields with Ls slices and have red-black Schur
/// complements. With D_W(-M5) = A - H/2, A = 1 + 3 nu/xi0 - M5, and (L psi)_s = P_- psi_{s+1} + P_+ psi_{s-1}
/// (wrapped terms times -m_f),
///
///   D5 = D_+ - D_- L = M - 1/2 H B,   M = 1 - L + A B,   B = b5 + c5 L
///
/// M and B are local to a 4-D site and cyclic-bidiagonal in the slices (fifth_matrices.hpp).
/// With K = B M^-1:
///
///   symmetric    S = 1 - 1/4 H_eo K H_oe K        (x_e = M^-1 times the solution of S y = b_e + 1/2 H K b_o)
///   asymmetric   S = M - 1/4 H_eo K H_oe B
///
/// K is applied to each tile of sites right after the hop that wrote it, while it is in the cache.
#include "trellis/operator/fifth_matrices.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {

/// These are matrices along the fifth dimension. axial_sign is -1 on slices below Ls/2, and +1 above.
enum class FifthMatrix { M, B, M_inverse, K, D_minus_diagonal, half_c5, axial_sign };
inline constexpr int fifth_matrices = 7;

/// It holds links and coefficients in one storage, which the operators below share.
class DomainWallMatrix {
 public:
  DomainWallMatrix(const GaugeField& U, const DomainWallParams& params, const KernelChoice& choice = {});
  std::shared_ptr<const DomainWallMatrix> converted(Precision precision) const;

  const DomainWallParams& params() const { return params_; }
  const KernelChoice& choice() const { return hop_->choice(); }
  const HoppingTerm& hop() const { return *hop_; }
  const Lattice& lattice() const { return *hop_->lattice_ptr(); }
  const GaugeField& links() const { return *U_; }
  FieldSpec field_spec(Subset subset, int rhs) const { return hop_->field_spec(subset, rhs, params_.Ls); }
  SpinorField make_field(Subset subset, int rhs) const { return hop_->make_field(subset, rhs, params_.Ls); }

  /// Computes out = T in on the sites of one parity, or T^dagger in; out and in may be the same.
  void apply_fifth(SpinorField& out, const SpinorField& in, int parity, FifthMatrix T, bool is_dagger) const;
  /// Does the same for the blocks of a range.
  void apply_fifth(SpinorField& out, const SpinorField& in, int parity, FifthMatrix T, bool is_dagger,
                   const SiteRange& sites) const;
  /// Computes out = T (H in), or x + coefficient T (H in).
  void apply_hop_then_fifth(SpinorField& out, int parity, const SpinorField& in, FifthMatrix T,
                            bool is_dagger, double coefficient = 1.0, const SpinorField* x = nullptr) const;
  /// Computes out = x + coefficient H in.
  void apply_hop_plus(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                      const SpinorField& x, bool is_dagger) const;
  /// Return what makes a hop to `out` one of these two; |out|^2 is added to `norms`, if given. All arguments
  /// have to live until the hop is done.
  HopTask hop_then_fifth(const SpinorField& out, int parity, FifthMatrix T, bool is_dagger,
                         double coefficient = 1.0, const SpinorField* x = nullptr,
                         TileNorms* norms = nullptr) const;
  static HopTask hop_plus(double coefficient, const SpinorField& x, bool is_dagger,
                          TileNorms* norms = nullptr);
  /// Computes out = D_- in = (1 - c5 A) in + c5/2 H in, on full fields.
  void apply_D_minus(SpinorField& out, const SpinorField& in) const;

  double fifth_flops(FifthMatrix T) const;  ///< a site and slice takes so many

 private:
  FifthDimensionCall fifth_call(const SpinorField& out, const SpinorField& in, int parity, FifthMatrix T,
                                bool is_dagger) const;
  std::shared_ptr<const GaugeField> U_;  ///< it is kept to build the matrix in other storages
  DomainWallParams params_;
  std::shared_ptr<const HoppingTerm> hop_;
  std::vector<FifthCoefficients> fifth_;  ///< [matrix][is_dagger]
};
using DomainWallMatrixPtr = std::shared_ptr<const DomainWallMatrix>;

/// Applies D5 to full fields.
class DomainWallOperator final : public LinearOperator {
 public:
  explicit DomainWallOperator(DomainWallMatrixPtr matrix) : matrix_{std::move(matrix)} {}
  DomainWallOperator(const GaugeField& U, const DomainWallParams& params, const KernelChoice& choice = {})
      : DomainWallOperator(std::make_shared<DomainWallMatrix>(U, params, choice)) {}

  DomainWallOperator(const DomainWallOperator&) = delete;  // it owns its workspace

  FieldSpec domain(int columns = 1) const override { return matrix_->field_spec(Subset::full, columns); }
  const LatticePtr& domain_lattice() const override { return matrix_->hop().lattice_ptr(); }
  Cost cost(int columns) const override;
  Cost dagger_cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::shared_ptr<const SchurOperator> schur(SchurForm form) const override;
  std::string name() const override;
  const DomainWallMatrixPtr& matrix() const { return matrix_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  SpinorField& workspace(int rhs) const;
  DomainWallMatrixPtr matrix_;
  mutable std::map<int, std::unique_ptr<SpinorField>> workspace_;
};

/// It is the Schur complement on the sites of one parity, with the preparation and reconstruction that solve
/// D5 x = b.
class DomainWallSchur final : public SchurOperator {
 public:
  DomainWallSchur(DomainWallMatrixPtr matrix, SchurForm form, int parity = 0);

  FieldSpec domain(int columns = 1) const override {
    return matrix_->field_spec(subset_of(parity_), columns);
  }
  const LatticePtr& domain_lattice() const override { return matrix_->hop().lattice_ptr(); }
  /// Papers count flops with a dense matrix in the fifth dimension.
  Cost cost(int columns) const override { return cost_of_form(columns, false); }
  Cost dagger_cost(int columns) const override { return cost_of_form(columns, true); }
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;

  /// Makes b_e + 1/2 H_eo K b_o.
  void prepare_source(SpinorField& schur_source, const SpinorField& b) const override;
  /// Makes M x_e (symmetric) or x_e.
  void prepare_guess(SpinorField& schur_guess, const SpinorField& x) const override;
  /// Makes x_e = M^-1 y (symmetric) or y, with y the Schur solution, and x_o = M^-1 (b_o + 1/2 H_oe B x_e).
  void reconstruct(SpinorField& x, const SpinorField& schur_solution, const SpinorField& b) const override;
  Cost source_cost(int columns) const override;
  Cost guess_cost(int columns) const override;
  Cost reconstruction_cost(int columns) const override;
  LinearOperatorPtr full() const override { return std::make_shared<DomainWallOperator>(matrix_); }
  std::string form_in_words() const override {
    return form_ == SchurForm::symmetric ? "even-odd (symmetric)" : "even-odd (asymmetric)";
  }

 private:
  /// |out|^2 is summed by the last hop.
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  Cost cost_of_form(int columns, bool is_dagger) const;
  double conventional_flops() const;  ///< one column takes so many
  /// Return the costs of T in, and of x + coefficient H in, on half the sites.
  Cost fifth_cost(FifthMatrix T, int columns) const;
  Cost hop_plus_cost(int columns) const;
  SpinorField& workspace(int which, int parity, int rhs) const;
  /// Both add |out|^2 to `norms`, if given.
  void run(SpinorField& out, const SpinorField& in, TileNorms* norms) const;
  void run_dagger(SpinorField& out, const SpinorField& in, TileNorms* norms) const;
  DomainWallMatrixPtr matrix_;
  SchurForm form_;
  int parity_;
  mutable std::map<std::array<int, 3>, std::unique_ptr<SpinorField>> workspace_;
};

}  // namespace trellis
