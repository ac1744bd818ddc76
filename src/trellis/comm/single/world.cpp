/// This file has world() of a build without MPI.
#ifndef TRELLIS_WITH_MPI
#include "trellis/comm/end_of_job.hpp"
#include "trellis/comm/launcher.hpp"
#include "trellis/comm/single/single_communicator.hpp"

namespace trellis {

CommunicatorPtr world() {
  static CommunicatorPtr communicator = [] {
    require_single_process();
    return std::make_shared<SingleCommunicator>();
  }();
  return communicator;
}

void move_messages() {}

bool library_takes_device_memory() { return false; }

std::string communication_library() { return "none"; }

void abort_all_ranks(int) {}

bool is_one_of_several_ranks() { return false; }

void end_rank(int) {}

}  // namespace trellis
#endif
