#pragma once
/// Staggered operators are naive or improved (HISQ, asqtad), and have an even-odd form.
///
///   M = m + D,  D = 1/2 H anti-hermitian         (doc/conventions.md, Staggered fermions)
///   M^dagger M on the even sites: m^2 - D_eo D_oe
#include "trellis/field/schur_operator.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis {

/// It is one flavour in one storage: links, phases and mass. Copies in other storages share the links.
class StaggeredMatrix {
 public:
  StaggeredMatrix(StaggeredLinksPtr links, const StaggeredPhases& phases, double mass,
                  Precision precision = Precision::double_precision);

  double mass() const { return mass_; }
  const StaggeredHopping& hopping() const { return *hopping_; }
  const StaggeredPhases& phases() const { return hopping_->phases(); }
  Precision precision() const { return hopping_->precision(); }
  const Lattice& lattice() const { return hopping_->lattice(); }
  /// Returns the same flavour in another storage, which is made once.
  std::shared_ptr<const StaggeredMatrix> converted(Precision precision) const;

 private:
  std::shared_ptr<const StaggeredHopping> hopping_;
  double mass_;
  mutable std::mutex mutex_;
  mutable std::map<Precision, std::shared_ptr<const StaggeredMatrix>> converted_;
};
using StaggeredMatrixPtr = std::shared_ptr<const StaggeredMatrix>;

/// Applies M to full fields of colour vectors.
class StaggeredOperator final : public LinearOperator {
 public:
  explicit StaggeredOperator(StaggeredMatrixPtr matrix) : matrix_{std::move(matrix)} {}

  FieldSpec domain(int columns = 1) const override {
    return matrix_->hopping().field_spec(Subset::full, columns);
  }
  const LatticePtr& domain_lattice() const override { return matrix_->hopping().links()->lattice_ptr(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::shared_ptr<const SchurOperator> schur(SchurForm form) const override;
  std::string name() const override { return "staggered"; }
  const StaggeredMatrixPtr& matrix() const { return matrix_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  StaggeredMatrixPtr matrix_;
};

/// It is M^dagger M + shift = m^2 + shift - D_eo D_oe on the even sites, in two passes; it is positive for m
/// != 0 and no shift. With parity 1 it is the same on the odd sites, with o and e exchanged in all that
/// follows.
class StaggeredSchur final : public SchurOperator {
 public:
  explicit StaggeredSchur(StaggeredMatrixPtr matrix, double shift = 0, int parity = 0);

  bool is_hermitian() const override { return true; }
  bool is_positive() const override { return shift_ >= 0; }
  FieldSpec domain(int columns = 1) const override {
    return matrix_->hopping().field_spec(subset_of(parity_), columns);
  }
  const LatticePtr& domain_lattice() const override { return matrix_->hopping().links()->lattice_ptr(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  LinearOperatorPtr with_shift(double shift) const override;
  std::string name() const override { return "even-odd staggered"; }
  const StaggeredMatrixPtr& matrix() const { return matrix_; }
  double shift() const { return shift_; }

  /// Makes the right-hand side of M^dagger M x_e = c for M x = b: c = m b_e - D_eo b_o. @pre shift() == 0
  void prepare_source(SpinorField& source, const SpinorField& b) const override;
  void prepare_guess(SpinorField& guess, const SpinorField& x) const override { extract_parity(guess, x); }
  /// Makes x_o = (b_o - D_oe x_e) / m. @pre m != 0
  void reconstruct(SpinorField& x, const SpinorField& solution, const SpinorField& b) const override;
  Cost source_cost(int columns) const override { return hop_plus_cost(parity_, columns); }
  Cost reconstruction_cost(int columns) const override {
    return hop_plus_cost(1 - parity_, columns) + copy_cost(columns);
  }
  LinearOperatorPtr full() const override { return std::make_shared<StaggeredOperator>(matrix_); }
  std::string form_in_words() const override { return "even-odd"; }
  /// Makes z (full), which the link derivative takes: z_e = x, z_o = D_oe x.
  void extend(SpinorField& z, const SpinorField& x) const;

 private:
  /// <in, out> is summed by the second hop, where that can.
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  /// Returns a field on the sites of the other parity.
  SpinorField& workspace(int rhs) const;
  /// Returns the cost of a D in + b x on the sites of a parity.
  Cost hop_plus_cost(int parity, int columns) const;
  StaggeredMatrixPtr matrix_;
  double shift_;
  int parity_;
  mutable std::map<int, std::unique_ptr<SpinorField>> workspace_;
};

}  // namespace trellis
