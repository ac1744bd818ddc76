/// world() of a build without MPI.
#ifndef TRELLIS_WITH_MPI
#include "trellis/comm/single/single_communicator.hpp"

namespace trellis {

CommunicatorPtr world() {
  static CommunicatorPtr communicator = std::make_shared<SingleCommunicator>();
  return communicator;
}

void abort_all_ranks(int) {}

}  // namespace trellis
#endif
