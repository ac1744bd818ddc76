#pragma once
/// This is the prolongator P between two coarse lattices: columns of test vectors, orthonormal in each
/// aggregate of coarse sites and each chirality,
///   P^dagger P = 1,   gamma5_c P = P gamma5_c,   gamma5_c = +1, -1 on the two halves of the numbers of a
///   site.
///
/// The columns are the right-hand sides of one coarse field: the first half of its numbers are the columns of
/// chirality +, the second half those of chirality -. (A. Frommer, K. Kahl, S. Krieg, B. Leder, M. Rottmann,
/// arXiv:1303.1377)
#include "trellis/device/kernel_table.hpp"
#include "trellis/kernels/multigrid/coarse_transfer.hpp"
#include "trellis/lattice/aggregates.hpp"
#include "trellis/multigrid/dense.hpp"
#include "trellis/multigrid/transfer.hpp"

namespace trellis {

class CoarseProlongator final : public Transfer {
 public:
  /// Begins with zero columns. @param like is a full field of the upper of the two lattices, in double or
  /// single
  /// @throws BadArgument: its lattice cannot be cut like that, or blocks have fewer numbers than vectors
  CoarseProlongator(const SiteField& like, const Coord& block, int vectors);

  int vectors() const override { return columns_.rhs(); }
  const Coord& block() const override { return aggregates_.block(); }
  const Aggregates& aggregates() const { return aggregates_; }
  const LatticePtr& coarser_lattice() const { return coarser_lattice_; }
  FieldSpec coarse_spec(int rhs) const;
  SiteField make_coarse_field(int rhs) const override { return {coarser_lattice_, coarse_spec(rhs)}; }

  SiteField& columns() { return columns_; }
  const SiteField& columns() const { return columns_; }
  /// Makes the columns orthonormal in each aggregate and chirality, in their order, twice. Returns the least
  /// part of a column's |v|^2, in any aggregate and chirality, that the columns before it lacked; where that
  /// is not above `least`, the columns are left as they were. Collective.
  /// @param gram gets the products of the columns as they were, over the whole lattice; may be null
  double orthonormalise(double least, DenseMatrix* gram = nullptr);
  /// Computes V <- V matrix for a field like columns(). @pre matrix is upper triangular
  void mix(SiteField& V, const DenseMatrix& matrix) const;
  /// Lists the columns that in some aggregate have no more than `least` of their |v|^2 beside the columns
  /// before them: the same on all ranks. Collective.
  std::vector<int> dependent_columns(double least) const;

  void restrict_to(SiteField& coarse, const SiteField& fine) const override;
  void prolong_to(SiteField& fine, const SiteField& coarse) const override;
  Cost transfer_cost(int columns) const override;

  /// Returns P^dagger right over the sites `subset` of each aggregate, in double: [group][rhs][row][re, im].
  std::vector<double> products_with(const SiteField& right, const std::vector<int32_t>& subset) const;

  size_t bytes() const override { return columns_.bytes(); }

 private:
  AggregateTable table() const { return {table_.data(), aggregates_.sites()}; }
  CoarseProductsCall products_call(const SiteField& right, const KernelTable<int32_t>& subset) const;
  /// Returns the products of the columns in an aggregate, of equal chirality.
  std::vector<DenseMatrix> grams() const;
  /// Does one pass: V <- V R^-1 with V^dagger V = R^dagger R.
  double mix_by_products(double least, DenseMatrix* gram);
  /// Multiplies V by one matrix for each aggregate and chirality, [group][chirality].
  void mix_columns(SiteField& V, const std::vector<DenseMatrix>& matrices) const;
  SiteField columns_;
  Aggregates aggregates_;
  LatticePtr coarser_lattice_;
  std::vector<int32_t> all_sites_, coarser_places_, places_of_[2];
  KernelTable<int32_t> table_, all_, place_of_group_, group_of_[2], places_[2];
};

}  // namespace trellis
