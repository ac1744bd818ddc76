#pragma once
/// A launch file instantiates itself for the storage and the layout that the build passes to it
/// (cmake/TrellisKernels.cmake).
#include "trellis/view/layout.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

#if defined(TRELLIS_INSTANTIATE_BACKEND_cuda)
using InstantiatedLayout = CudaLayout;
#elif defined(TRELLIS_INSTANTIATE_LANES)
using InstantiatedLayout = CpuLayout<TRELLIS_INSTANTIATE_LANES>;
#else
using InstantiatedLayout = GpuLayout;
#endif
#if defined(TRELLIS_INSTANTIATE_STORAGE)
using InstantiatedStorage = TRELLIS_INSTANTIATE_STORAGE;
#endif

}  // namespace trellis
