#pragma once
/// for_each_site_in_teams(range, slots, kernel) runs a kernel for teams (view/team.hpp) on the GPU layout,
/// real or emulated, on the backend that a launch file is compiled for.
///
/// in_fastest_way<Name, Storage>(range, ways, slots, working set, launch) calls launch(way) with one of 0 to
/// ways
/// - 1, which all do the same: the tuner chooses on GPUs, and the emulated layout takes them in turn.
#include "trellis/device/launch.hpp"
#include "trellis/view/team.hpp"

#if !defined(TRELLIS_INSTANTIATE_BACKEND_cuda)
#include "trellis/device/cpu/teams.hpp"
#else
#include "trellis/device/cuda/fastest_way.hpp"
#if defined(__CUDACC__)
#include "trellis/device/cuda/teams.cuh"
#else
#include "trellis/device/simulated/teams.hpp"
#endif
#endif
