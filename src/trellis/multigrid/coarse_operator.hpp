#pragma once
/// This is the coarse operator D_c = P^dagger D P of multigrid, with its even-odd system.
///
///   (D_c x)(X) = A(X) x(X) + sum_mu [ F_mu(X) x(X + mu) + g5 F_mu(X - mu)^dagger g5 x(X - mu) ]
///
/// F_mu(X) are the forward legs of D between neighbouring aggregates: four matrices a site are stored, and A
/// with its inverse. D + delta + i mu gamma5 becomes D_c + delta + i mu g5 exactly (arXiv:1303.1377).
#include <functional>
#include <map>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/halo/halo_exchange.hpp"
#include "trellis/field/schur_operator.hpp"
#include "trellis/kernels/multigrid/coarse_legs.hpp"

namespace trellis {

/// Matrices of 2 n rows are fields of coarse sites, by columns, [column][row][re, im].
class CoarseMatrix {
 public:
  /// @param links are F_mu as the right-hand sides of a full field; @param diagonal is A, in the storage of
  /// vectors
  /// @param storage is where F and A^-1 are kept: that of `diagonal`, or half for vectors in single.
  /// Collective.
  /// @throws NumericError: some A is singular, or nearly
  CoarseMatrix(const SiteField& links, SiteField diagonal, Precision storage);
  std::shared_ptr<const CoarseMatrix> converted(Precision precision) const;
  /// Returns F and A^-1 in another storage, with the same vectors.
  std::shared_ptr<const CoarseMatrix> stored_in(Precision storage) const;
  /// Returns D with A + mass + i twist g5.
  std::shared_ptr<const CoarseMatrix> shifted(double mass, double twist) const;

  int vectors() const { return vectors_; }
  const SiteField& links() const { return links_; }
  const SiteField& diagonal() const { return diagonal_; }
  const LatticePtr& lattice_ptr() const { return links_.lattice_ptr(); }
  FieldSpec field_spec(Subset subset, int rhs) const;
  /// Returns the largest estimate of the condition of an A, on any rank.
  double condition() const { return condition_; }
  size_t bytes() const { return links_.bytes() + diagonal_.bytes() + inverse_.bytes(); }

  /// Computes out = add + hop H in on the sites of a parity; add may be null. Fields have that parity and the
  /// other one, or both.
  /// @pre out and in are different, unless full
  void hop(SiteField& out, int parity, const SiteField& in, const SiteField* add, double hop,
           bool is_dagger) const;
  /// Computes out = D_c in on all sites, with one exchange of neighbours. @pre out is not in
  void multiply_all(SiteField& out, const SiteField& in, bool is_dagger) const;
  /// Computes out = add + A in, or A^-1 in. @pre out is not in
  void multiply(SiteField& out, int parity, const SiteField& in, const SiteField* add, bool is_inverse,
                bool is_dagger) const;
  /// Computes out(X) = F_mu(X) in(X + mu) on all sites for each direction mu, then calls use(mu), with one
  /// exchange for all four. Its halo does not stay. @pre out is not in
  void forward_legs(SiteField& out, const SiteField& in, const std::function<void(int mu)>& use) const;
  /// Returns the cost of one hop to a parity from a field of the other one; the next two are those of one A
  /// on a parity, and of D_c. Messages are those of this rank: where local extents are odd, ranks have
  /// unequal numbers of sites of a parity.
  Cost hop_cost(int parity, int columns) const;
  Cost diagonal_cost(int columns) const;
  Cost cost_of_all(int columns) const;

 private:
  struct Halo;
  const SiteHaloPtr& ghost_sites(Subset subset) const;
  Halo& halo(const SiteField& in) const;
  void hop_from(const Halo& neighbours, SiteField& out, int parity, const SiteField& in, const SiteField* add,
                double hop, bool is_dagger, unsigned legs_taken = all_legs) const;
  Cost hop_cost_without_halo(int columns) const;
  int vectors_;
  SiteField links_, diagonal_, inverse_;
  double condition_ = 0;
  std::unique_ptr<HaloExchange> link_halo_;
  std::vector<int32_t> back_places_[2];
  KernelTable<int32_t> back_links_[2];  ///< it is [site][mu], by parity of the site
  mutable std::map<Subset, SiteHaloPtr> ghost_sites_;
  mutable std::map<std::pair<Subset, int>, std::shared_ptr<Halo>> halos_;  ///< columns are a part of the key
};
using CoarseMatrixPtr = std::shared_ptr<const CoarseMatrix>;

class CoarseOperator final : public LinearOperator {
 public:
  explicit CoarseOperator(CoarseMatrixPtr matrix) : matrix_{std::move(matrix)} {}
  FieldSpec domain(int columns = 1) const override { return matrix_->field_spec(Subset::full, columns); }
  const LatticePtr& domain_lattice() const override { return matrix_->lattice_ptr(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::shared_ptr<const SchurOperator> schur(SchurForm form) const override;
  std::string name() const override;
  const CoarseMatrixPtr& matrix() const { return matrix_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  CoarseMatrixPtr matrix_;
};

/// It acts on the even sites: 1 - A^-1 H A^-1 H, or A - H A^-1 H.
class CoarseSchur final : public SchurOperator {
 public:
  CoarseSchur(CoarseMatrixPtr matrix, SchurForm form) : matrix_{std::move(matrix)}, form_{form} {}
  FieldSpec domain(int columns = 1) const override { return matrix_->field_spec(Subset::even, columns); }
  const LatticePtr& domain_lattice() const override { return matrix_->lattice_ptr(); }
  Cost cost(int columns) const override;
  LinearOperatorPtr converted(Precision precision) const override;
  std::string name() const override;
  LinearOperatorPtr full() const override { return std::make_shared<CoarseOperator>(matrix_); }
  void prepare_source(SpinorField& source, const SpinorField& b) const override;
  void prepare_guess(SpinorField& guess, const SpinorField& x) const override { extract_parity(guess, x); }
  void reconstruct(SpinorField& x, const SpinorField& solution, const SpinorField& b) const override;
  Cost source_cost(int columns) const override;
  Cost reconstruction_cost(int columns) const override;
  const CoarseMatrixPtr& matrix() const { return matrix_; }
  SchurForm form() const { return form_; }
  std::string form_in_words() const override {
    return form_ == SchurForm::symmetric ? "even-odd (symmetric)" : "even-odd (asymmetric)";
  }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const override;
  SpinorField& workspace(int which, int parity, int rhs) const;
  CoarseMatrixPtr matrix_;
  SchurForm form_;
  mutable std::map<std::array<int, 3>, std::unique_ptr<SpinorField>> workspace_;
};

}  // namespace trellis
