#pragma once
/// This is the prolongator P of a Wilson-type operator: columns of test vectors, orthonormal in each
/// aggregate and chirality,
///   P^dagger P = 1,   gamma5 P = P gamma5_c,   gamma5_c = +1, -1 on the two halves of the numbers of a
///   coarse site.
///
/// The columns are the right-hand sides of one spinor field: its upper spins are the columns of chirality +,
/// its lower ones those of chirality -. (A. Frommer, K. Kahl, S. Krieg, B. Leder, M. Rottmann,
/// arXiv:1303.1377)
#include <map>
#include <memory>
#include <optional>

#include "trellis/device/kernel_table.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/lattice/aggregates.hpp"
#include "trellis/multigrid/dense.hpp"
#include "trellis/multigrid/transfer.hpp"

namespace trellis {

class Prolongator final : public Transfer {
 public:
  /// Begins with zero columns. @param like has full spinors, in double or single; their layout must fit the
  /// block
  Prolongator(const SpinorField& like, const Coord& block, int vectors);

  int vectors() const override { return spec_.rhs; }
  const Coord& block() const override { return aggregates_.block(); }
  int coarse_reals() const { return 4 * vectors(); }
  const Aggregates& aggregates() const { return aggregates_; }
  const LatticePtr& coarse_lattice() const { return coarse_lattice_; }
  const LatticePtr& fine_lattice() const { return fine_lattice_; }
  const SiteLayoutPtr& layout_ptr() const { return aggregates_.layout_ptr(); }
  /// Returns the precision of the columns as set-up works with them.
  Precision precision() const { return spec_.precision; }
  /// Says what coarse fields of so many right-hand sides look like.
  FieldSpec coarse_spec(int rhs) const;
  SiteField make_coarse_field(int rhs) const override { return {coarse_lattice_, coarse_spec(rhs)}; }

  /// @pre release_columns() was not called
  SpinorField& columns() { return *columns_; }
  const SpinorField& columns() const { return *columns_; }
  /// Returns a zero field like columns(), and copy_of_columns() a copy of these, which may have been
  /// released.
  SpinorField make_columns() const { return {fine_lattice_, spec_}; }
  SpinorField copy_of_columns() const;
  /// Makes P and P^dagger take columns in 16-bit fixed point from here on, and columns() are what these stand
  /// for: a second time changes nothing. @pre the columns are in single precision
  void round_columns();
  /// Frees what only set-up needs. @pre round_columns() was called
  void release_columns();
  /// Makes the columns orthonormal in each aggregate and chirality, in their order (Cholesky factors of their
  /// products, twice). Returns the least part of a column's |v|^2, in any aggregate and chirality, that the
  /// columns before it lacked; where that is not above `least`, some aggregate has columns that depend on
  /// each other, and the columns are left as they were. Collective.
  /// @param gram gets the products of the columns as they were, over the whole lattice; may be null
  double orthonormalise(double least, DenseMatrix* gram = nullptr);
  /// Computes V <- V matrix for a field like columns(). @pre matrix is upper triangular
  void mix(SpinorField& V, const DenseMatrix& matrix) const;
  /// Lists the columns that in some aggregate have no more than `least` of their |v|^2 beside the columns
  /// before them, those that depend on others not counted: the list is the same on all ranks. Collective.
  std::vector<int> dependent_columns(double least) const;

  /// Computes coarse = P^dagger fine, and prolong_to() fine = P coarse.
  void restrict_to(SiteField& coarse, const SpinorField& fine) const override;
  void prolong_to(SpinorField& fine, const SiteField& coarse) const override;
  /// Counts each with both parities of the coarse field moved between lanes and sites.
  Cost transfer_cost(int columns) const override;

  /// It has [group][column][row][re, im][lane] of a matrix of products, and says how kernels find sites.
  struct Products {
    int groups = 0, lanes = 0, rows = 0;
    bool is_hermitian = false;  ///< then `values` lacks what lies below the diagonal
    std::vector<double> values;
    /// Returns the matrix of the aggregate in a lane of a group, chirality blocks included.
    DenseMatrix matrix(int group, int lane) const;
  };
  /// Returns sum_x columns^dagger right over the sites `subset` of each aggregate; with `mu` >= 0 it is the
  /// sum of (1 - gamma_mu) psi, else that of equal chiralities only. It sums one site after the other, in
  /// double or in the storage of the columns.
  /// @pre right is like columns()
  Products products_with(const SpinorField& right, const std::vector<int32_t>& subset, int mu,
                         bool in_double) const;

  size_t bytes() const override { return (columns_ ? columns_->bytes() : 0) + (half_ ? half_->bytes() : 0); }

 private:
  const SpinorField& in_products() const { return half_ ? *half_ : *columns_; }
  AggregateTable table() const { return {table_.data(), aggregates_.sites()}; }
  Memory& lanes_memory(int rhs) const;
  void move_lanes(const SiteField& coarse, Memory& lanes, bool is_gathering) const;
  double mix_by_products(double least, DenseMatrix* gram);
  DenseMatrix sum_of_aggregates(const Products& products) const;
  /// Multiplies V by the matrices in `mixing`, [group][chirality][column][row][re, im][lane].
  void mix_columns(SpinorField& V, const std::vector<double>& mixing) const;
  /// Says where a matrix of `mixing` has an element.
  size_t mixing_place(int group, int lane, int chirality, int row, int column) const;
  LatticePtr fine_lattice_;
  FieldSpec spec_;  ///< columns_ has this
  std::optional<SpinorField> columns_, half_;
  Aggregates aggregates_;
  LatticePtr coarse_lattice_;
  SiteLayoutPtr coarse_layout_;
  KernelTable<int32_t> table_, group_of_[2], lane_of_[2];
  std::vector<int32_t> lanes_of_parity_[2];
  mutable std::map<int, Memory> lanes_memory_;
};

}  // namespace trellis
