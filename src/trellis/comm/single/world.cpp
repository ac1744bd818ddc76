/// world() of a build without MPI.
#ifndef TRELLIS_WITH_MPI
#include "trellis/comm/single/single_communicator.hpp"

namespace trellis {

CommunicatorPtr world() {
  static CommunicatorPtr communicator = std::make_shared<SingleCommunicator>();
  return communicator;
}

std::string communication_library() { return "none"; }

void abort_all_ranks(int) {}

}  // namespace trellis
#endif
