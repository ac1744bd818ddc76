#pragma once
/// The one annotation that kernel text carries: "this runs at a site, on the host or on a device".
#if defined(__CUDACC__)
#define TRELLIS_SITE_FN __host__ __device__ __forceinline__
#else
#define TRELLIS_SITE_FN inline __attribute__((always_inline))
#endif
