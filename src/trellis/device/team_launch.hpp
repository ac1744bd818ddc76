#pragma once
/// for_each_site_in_teams(range, slots, kernel) runs a kernel for teams (device/team.hpp) on the GPU layout,
/// real or emulated, on the backend that a launch file is compiled for.
#include "trellis/device/launch.hpp"
#include "trellis/device/team.hpp"

#if !defined(TRELLIS_INSTANTIATE_BACKEND_cuda)
#include "trellis/device/cpu/teams.hpp"
#elif defined(__CUDACC__)
#include "trellis/device/cuda/teams.cuh"
#else
#include "trellis/device/simulated/teams.hpp"
#endif
