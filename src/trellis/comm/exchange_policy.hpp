#pragma once
/// How halos travel. All policies move the same bytes into the same buffers.
#include <string>

#include "trellis/base/precision.hpp"
#include "trellis/comm/communicator.hpp"

namespace trellis {

enum class ExchangePolicy {
  automatic,   ///< host memory as `shared` (on AMD's processors) or `copied` where ranks can share memory,
               ///< GPUs as `persistent`
  persistent,  ///< MPI persistent requests
  shared,      ///< between ranks of one node in memory that they share, others as persistent
  copied       ///< as `shared`, with copies from and to memory of each rank's own
};

/// What exchanges made from now on use. At the start: the environment variable TRELLIS_EXCHANGE (automatic,
/// persistent, shared or copied; BadArgument for other words), or automatic.
ExchangePolicy exchange_policy();
/// Collective by agreement: all ranks have to set the same. A build without MPI copies in any case.
void set_exchange_policy(ExchangePolicy policy);

/// The exchange of a halo, by the policy. Unlike Communicator::make_exchange it is collective: all ranks make
/// it, in the same order as other such exchanges. Throws Error on all ranks where the policy is `shared` or
/// `copied` and some rank gets no shared memory; `automatic` says so once, and takes MPI's requests.
/// @param backend of the fields whose halo it is
std::unique_ptr<Exchange> make_halo_exchange(Communicator& communicator, const std::vector<Message>& sends,
                                             const std::vector<Message>& receives,
                                             Backend backend = Backend::cpu);

/// Whether messages of halos may lie in the memory of a GPU: unless the policy is `shared` or `copied`, where
/// the MPI library says that it takes device pointers. TRELLIS_GPU_MESSAGES=staged or direct in the
/// environment decides otherwise (BadArgument for other words).
bool takes_device_memory();
/// What the MPI library says of itself.
bool library_takes_device_memory();

const char* name_of(ExchangePolicy policy);
/// Throws BadArgument with the legal names.
ExchangePolicy exchange_policy_by_name(const std::string& name);

}  // namespace trellis
