#pragma once
/// This is the one place where it is decided how halos travel. All ways move the same bytes into the same
/// buffers.
#include <string>

#include "trellis/base/precision.hpp"
#include "trellis/comm/transport/transport.hpp"
#include "trellis/device/tuner.hpp"

namespace trellis {

class Geometry;

/// Users choose among these policies. Those of GPUs leave fields on hosts the choice of `automatic`.
enum class ExchangePolicy {
  automatic,    ///< it is the tuner's choice where it has one (device/tuner.hpp); else host memory goes as
                ///< `shared` (on AMD's processors) or `copied` where ranks can share memory, and GPUs go as
                ///< `peer` where they reach each other's memory
  persistent,   ///< MPI persistent requests are taken
  shared,       ///< ranks of one node take memory that they share, others persistent requests
  copied,       ///< it is as `shared`, with copies from and to memory of each rank's own
  staged,       ///< GPUs: halos go through page-locked memory of the host, with copies
  mapped,       ///< GPUs: kernels write and read page-locked memory of the host
  direct,       ///< GPUs: the MPI library takes addresses of their memory
  peer,         ///< GPUs: kernels write into memory of the receiver's GPU
  peer_copied,  ///< GPUs: copies bring messages there
  fused         ///< GPUs: hops pack, compute and wait in one launch; other halos go as `peer`
};
inline constexpr ExchangePolicy exchange_policies[] = {
    ExchangePolicy::automatic,   ExchangePolicy::persistent, ExchangePolicy::shared, ExchangePolicy::copied,
    ExchangePolicy::staged,      ExchangePolicy::mapped,     ExchangePolicy::direct, ExchangePolicy::peer,
    ExchangePolicy::peer_copied, ExchangePolicy::fused};

/// Says what transports made from now on use. It starts with the environment variable TRELLIS_EXCHANGE (a
/// name of a policy; other words throw BadArgument), or automatic.
ExchangePolicy exchange_policy();
/// Sets the policy. It is collective by agreement: all ranks have to set the same. A build without MPI copies
/// in any case.
void set_exchange_policy(ExchangePolicy policy);

const char* name_of(ExchangePolicy policy);
/// Returns the policy of a name; throws BadArgument with the legal names.
ExchangePolicy exchange_policy_by_name(const std::string& name);

/// Returns the way of halos of fields on a backend, where the tuner does not choose. The policy decides. On a
/// GPU it is `staged` where the policy is `shared` or `copied`, and that of the policies for GPUs; else it is
/// `device` if the MPI library says that it takes device pointers, else `peer` with the policy `automatic`,
/// and `staged` with `persistent`.
TransportWay choose_transport(Backend backend);

/// The tuner tells halos apart by these.
struct HaloSubject {
  Backend backend = Backend::cpu;      ///< that of the fields; messages with data have it in its memory
  const Geometry* geometry = nullptr;  ///< with null the tuner is not asked
  int columns = 1;
  size_t scalar_bytes = 0;  ///< a number in the messages has so many
  bool is_of_hop = false;   ///< it can travel in the launch of its hop (HaloTransport::begin_with_flags)
};

/// Makes the transport of a halo. Where the policy is `automatic`, or leaves a backend its choice, and the
/// tuner has a choice for it, or is `on`, it is the way of the tuner on the rank 0 of the communicator; else
/// that of choose_transport(). On a GPU the tuner chooses between `device`, `peer`, `peer_copied`, `mapped`
/// and the ways between hosts behind `staged`, and for halos of hops also `fused`. A played rank
/// (comm/played_rank.hpp) sends all to itself.
///
/// Collective: all ranks make it, in the same order as other transports. Throws Error on all ranks where the
/// policy is `shared`, `copied`, `mapped`, `peer`, `peer_copied` or `fused`, and some rank gets no such
/// memory; `automatic` says so once, and takes requests, behind `staged` on a GPU.
TransportPtr make_transport(Communicator& communicator, const Messages& sends, const Messages& receives,
                            const HaloSubject& subject = {});

/// Returns the tuner's key of halos with so many bytes in so many messages from this rank.
TuneKey halo_key(const Communicator& communicator, const Messages& sends, const HaloSubject& subject);

}  // namespace trellis
