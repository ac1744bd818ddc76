#pragma once
/// Links as the hopping kernels want them: even-odd order, any storage, 18 or 12 reals.
#include "trellis/field/gauge_field.hpp"

namespace trellis {

class HopLinks {
 public:
  /// A copy of U. @pre link_reals 18, or 12 for special unitary links (the third row is rebuilt from the
  /// first two; links that are not SU(3) to 1e-10, single precision 1e-5, are refused).
  HopLinks(const GaugeField& U, Precision precision, int link_reals, Backend backend = Backend::cpu,
           int lanes = 0);

  const LatticePtr& lattice_ptr() const { return lattice_; }
  Precision precision() const { return precision_; }
  Backend backend() const { return backend_; }
  int link_reals() const { return link_reals_; }
  const SiteLayout& layout() const { return *layout_; }
  const SiteLayoutPtr& layout_ptr() const { return layout_; }
  RawField raw(int parity) const;
  size_t bytes() const { return memory_.bytes(); }

 private:
  void fill(const GaugeField& U);
  LatticePtr lattice_;
  Precision precision_;
  Backend backend_;
  int link_reals_;
  SiteLayoutPtr layout_;
  size_t data_bytes_ = 0, scale_bytes_ = 0;
  Memory memory_;
};

/// Largest deviation of a local link from SU(3): |(U U^dagger - 1)_ij| and |third row - conj(first x
/// second)|.
double largest_su3_violation(const GaugeField& U);

}  // namespace trellis
