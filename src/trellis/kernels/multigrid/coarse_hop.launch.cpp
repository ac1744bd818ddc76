// instantiate: BACKEND=cpu STORAGE=double,float LANES=1
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/multigrid/coarse_hop.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/multigrid/columns_of_thread.hpp"
#ifndef TRELLIS_INSTANTIATE_BACKEND_cuda
#include "trellis/kernels/multigrid/coarse_hop_by_columns.hpp"
#endif

namespace trellis {

namespace {
template <class Layout>
inline constexpr bool has_thread_a_row = std::is_base_of_v<GpuLayout, Layout>;
/// A thread takes so many rows, where there are several right-hand sides.
inline constexpr int rows_of_thread = 2;

template <class Kernel>
void launch_hop(const CoarseHopCall& call, const SiteRange& sites) {
  launch::for_each_site_in_parts<Kernel::parts>(sites, Kernel::slots(call.vectors, call.rhs), Kernel(call));
}
template <class Kernel>
void launch_rows(const CoarseMatrixCall& call, const SiteRange& sites) {
  launch::for_each_site(sites, Kernel::slots(call.vectors, call.rhs), Kernel(call));
}

template <class Layout, class Storage, class MatrixStorage>
void hop(const CoarseHopCall& call, const SiteRange& sites) {
  if constexpr (!has_thread_a_row<Layout>)
    launch::for_each_site(sites, CoarseHopByColumns<Layout, Storage, MatrixStorage>(call));
  else if (call.rhs == 1)
    launch_hop<CoarseHopOfRows<Layout, Storage, MatrixStorage, 1, 1>>(call, sites);
  else
    launch_hop<CoarseHopOfRows<Layout, Storage, MatrixStorage, rows_of_thread, columns_of_thread<Storage>>>(
        call, sites);
}
template <class Layout, class Storage, class MatrixStorage>
void multiply(const CoarseMatrixCall& call, const SiteRange& sites) {
  if constexpr (!has_thread_a_row<Layout>)
    launch::for_each_site(sites, CoarseMatrixByColumns<Layout, Storage, MatrixStorage>(call));
  else if (call.rhs == 1)
    launch_rows<CoarseMatrixOfRows<Layout, Storage, MatrixStorage, 1, 1>>(call, sites);
  else
    launch_rows<CoarseMatrixOfRows<Layout, Storage, MatrixStorage, 1, columns_of_thread<Storage>>>(call,
                                                                                                   sites);
}
}  // namespace

template <class Layout, class Storage>
void launch_coarse_hop(const CoarseHopCall& call, const SiteRange& sites) {
  if constexpr (std::is_same_v<Storage, float>)
    if (call.is_half) return hop<Layout, Storage, Half>(call, sites);
  hop<Layout, Storage, Storage>(call, sites);
}
template <class Layout, class Storage>
void launch_coarse_matrix(const CoarseMatrixCall& call, const SiteRange& sites) {
  if constexpr (std::is_same_v<Storage, float>)
    if (call.is_half) return multiply<Layout, Storage, Half>(call, sites);
  multiply<Layout, Storage, Storage>(call, sites);
}

template void launch_coarse_hop<InstantiatedLayout, InstantiatedStorage>(const CoarseHopCall&,
                                                                         const SiteRange&);
template void launch_coarse_matrix<InstantiatedLayout, InstantiatedStorage>(const CoarseMatrixCall&,
                                                                            const SiteRange&);

}  // namespace trellis
