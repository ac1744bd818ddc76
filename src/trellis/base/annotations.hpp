#pragma once
/// Kernel text carries these annotations. TRELLIS_SITE_FN stands before what runs at a site, on the host or
/// on a device. TRELLIS_EDGE_FN stands before what does so rarely and is better not inlined.
/// TRELLIS_CPU_EDGE_FN says the same of CPUs, but GPUs inline the function, since calls there pass large
/// arguments through memory. TRELLIS_INLINE_LAMBDA stands behind the parameters of a lambda in a kernel. With
/// TRELLIS_FOR_TESTS nothing is forced inline: such launches exist so that tests can compare bits, and
/// compile in a fifth of the time (cmake/TrellisFolders.cmake). TRELLIS_GPU_LOOP stands before a loop that
/// GPUs do not unroll: one pass takes all of a thread's registers.
#if defined(__CUDACC__)
#define TRELLIS_SITE_FN __host__ __device__ __forceinline__
#define TRELLIS_EDGE_FN __host__ __device__ __noinline__
#define TRELLIS_CPU_EDGE_FN __host__ __device__ inline
#define TRELLIS_INLINE_LAMBDA
#elif defined(TRELLIS_FOR_TESTS)
#define TRELLIS_SITE_FN inline
#define TRELLIS_EDGE_FN inline
#define TRELLIS_CPU_EDGE_FN inline
#define TRELLIS_INLINE_LAMBDA
#else
#define TRELLIS_SITE_FN inline __attribute__((always_inline))
#define TRELLIS_EDGE_FN __attribute__((noinline))
#define TRELLIS_CPU_EDGE_FN __attribute__((noinline))
#define TRELLIS_INLINE_LAMBDA __attribute__((always_inline))
#endif
#if defined(__CUDA_ARCH__)
#define TRELLIS_GPU_LOOP _Pragma("unroll 1")
#else
#define TRELLIS_GPU_LOOP
#endif
