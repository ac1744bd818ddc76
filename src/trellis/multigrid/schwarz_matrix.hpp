#pragma once
/// The Schwarz method works with a Wilson-type operator, block by block.
#include <complex>

#include "trellis/device/kernel_table.hpp"
#include "trellis/kernels/multigrid/block_call.hpp"
#include "trellis/multigrid/block_field.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {

/// They are vectors of blocks and blocks of a layout that hold the same sites: as many of each as there are
/// lanes.
struct BlockGroups {
  std::vector<int32_t> vectors, places;  ///< they are [group][lane], and empty where there are no such groups
};
/// Finds the groups. @param origins are [vector][lane]: block * lanes + lane of a layout with as many lanes
BlockGroups block_groups(const std::vector<int32_t>& origins, int lanes);

class SchwarzMatrix {
 public:
  /// Copies M's links and clover term into another order, in a storage.
  /// @param lanes is the largest number; 0 takes the vector width of this build
  /// @throws BadArgument: the lattice has no such blocks; NotAvailable: M lies on a GPU
  SchwarzMatrix(const WilsonMatrix& M, const Coord& block, Precision storage, int lanes = 0);
  SchwarzMatrix(const SchwarzMatrix&) = delete;
  SchwarzMatrix& operator=(const SchwarzMatrix&) = delete;

  const BlockOrder& order() const { return order_; }
  const LatticePtr& lattice_ptr() const { return lattice_; }
  Precision storage() const { return storage_; }
  size_t bytes() const;
  /// Counts the flops of a site in a solve's one Schur complement.
  double diagonal_flops() const { return diagonal_flops_; }

  /// Returns everything in a call but the fields.
  BlockSolveCall solve_call() const;
  BlockFaceCall face_call(int parity) const;
  /// Returns [vector][lane] of a parity, which says where the sites lie in a layout of fields. @pre it is of
  /// the same lattice
  std::vector<int32_t> origins(const SiteLayout& layout, int parity) const;

 private:
  struct LegPhases {
    alignas(64) double inside[16] = {}, outside[16] = {};
    double coefficient = 1;
    std::complex<double> boundary = 1;
  };
  void copy_links(const HopLinks& links);
  void copy_terms(const WilsonMatrix& M);
  RawStencil stencil(int parity, bool is_inside) const;

  LatticePtr lattice_;
  Precision storage_;
  BlockOrder order_;
  int link_reals_;
  bool has_clover_;
  std::complex<double> diagonal_, inverse_diagonal_;
  double twist_, diagonal_flops_;
  BlockField links_, clover_, inverse_, twisted_inverse_;
  bool has_link_scales_ = false;
  LegPhases legs_[legs];
  std::vector<uint8_t> at_boundary_;
  std::vector<int32_t> sums_;  ///< sums go in this order
  std::vector<int32_t> number_in_edge_[2][legs];
};
using SchwarzMatrixPtr = std::shared_ptr<const SchwarzMatrix>;

}  // namespace trellis
