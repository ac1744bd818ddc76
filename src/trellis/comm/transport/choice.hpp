#pragma once
/// The one place where it is decided how halos travel. All ways move the same bytes into the same buffers.
#include <string>

#include "trellis/base/precision.hpp"
#include "trellis/comm/transport/transport.hpp"

namespace trellis {

/// What users choose among.
enum class ExchangePolicy {
  automatic,   ///< host memory as `shared` (on AMD's processors) or `copied` where ranks can share memory,
               ///< GPUs as `persistent`
  persistent,  ///< MPI persistent requests
  shared,      ///< between ranks of one node in memory that they share, others as persistent
  copied       ///< as `shared`, with copies from and to memory of each rank's own
};

/// What transports made from now on use. At the start: the environment variable TRELLIS_EXCHANGE (automatic,
/// persistent, shared or copied; BadArgument for other words), or automatic.
ExchangePolicy exchange_policy();
/// Collective by agreement: all ranks have to set the same. A build without MPI copies in any case.
void set_exchange_policy(ExchangePolicy policy);

const char* name_of(ExchangePolicy policy);
/// Throws BadArgument with the legal names.
ExchangePolicy exchange_policy_by_name(const std::string& name);

/// The ways, each a file of this folder.
enum class TransportWay { requests, shared, copied, staged, device };

/// The way of halos of fields on a backend: by the policy; on a GPU, unless the policy is `shared` or
/// `copied`, `device` where the MPI library says that it takes device pointers or where
/// TRELLIS_GPU_MESSAGES=direct says so in its place, otherwise, or where that variable is `staged`, `staged`
/// (BadArgument for other words).
TransportWay choose_transport(Backend backend);
const char* name_of(TransportWay way);

/// The transport of a halo by choose_transport(). Collective: all ranks make it, in the same order as other
/// transports. Throws Error on all ranks where the policy is `shared` or `copied` and some rank gets no
/// shared memory; `automatic` says so once, and takes requests.
/// @param backend of the fields whose halo it is; messages with data have it in its memory
TransportPtr make_transport(Communicator& communicator, const Messages& sends, const Messages& receives,
                            Backend backend = Backend::cpu);

}  // namespace trellis
