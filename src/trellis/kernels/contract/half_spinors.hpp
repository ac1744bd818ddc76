#pragma once
/// These kernels copy one chirality between fields in double on a device: spins 0 and 1 or 2 and 3 of a
/// right-hand side, from one slot to another. The walls of domain-wall fermions and their quark are made of
/// these.
#include "trellis/view/site_array.hpp"

namespace trellis {

struct HalfSpinorsCall {
  RawField from, to;                    ///< both have one parity
  int from_first = 0, from_stride = 1;  ///< right-hand side r has the slot first + stride * r
  int to_first = 0, to_stride = 1;
  bool is_lower = false;  ///< it tells spins 2 and 3
  int rhs = 1;
};

template <class Layout>
class CopyHalfSpinors {
 public:
  explicit CopyHalfSpinors(const HalfSpinorsCall& call) : from_{call.from}, to_{call.to}, call_{call} {}

  TRELLIS_SITE_FN void operator()(int site, int rhs) const {
    const int first = call_.is_lower ? 12 : 0;
    double half[12];
    from_.load_part(site, call_.from_first + call_.from_stride * rhs, first, half);
    to_.store_part(site, call_.to_first + call_.to_stride * rhs, first, half);
  }

 private:
  SiteArray<Layout, double, 24> from_, to_;
  HalfSpinorsCall call_;
};

struct SiteRange;
/// It is built for CudaLayout.
template <class Layout>
void launch_copy_half_spinors(const HalfSpinorsCall& call, const SiteRange& sites);

}  // namespace trellis
