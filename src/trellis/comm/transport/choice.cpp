#include "trellis/comm/transport/choice.hpp"

#include <cstdio>
#include <cstdlib>

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/node_memory.hpp"

namespace trellis {

namespace {
ExchangePolicy& current() {
  static ExchangePolicy policy = [] {
    const char* name = std::getenv("TRELLIS_EXCHANGE");
    return name == nullptr || *name == '\0' ? ExchangePolicy::automatic : exchange_policy_by_name(name);
  }();
  return policy;
}

/// Where a core gets back lines that another one has written to as fast as it reads them
/// (transport/shared.cpp).
bool lines_return_fast() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

/// From memory of one host to that of another, or of the same.
TransportWay way_between_hosts(bool is_of_gpus) {
  switch (exchange_policy()) {
    case ExchangePolicy::persistent:
      return TransportWay::requests;
    case ExchangePolicy::shared:
      return TransportWay::shared;
    case ExchangePolicy::copied:
      return TransportWay::copied;
    default:
      if (is_of_gpus) return TransportWay::requests;
      return lines_return_fast() ? TransportWay::shared : TransportWay::copied;
  }
}

bool takes_device_memory() {
  if (exchange_policy() == ExchangePolicy::shared || exchange_policy() == ExchangePolicy::copied)
    return false;
  const char* value = std::getenv("TRELLIS_GPU_MESSAGES");
  const std::string word = value == nullptr ? "" : value;
  if (word.empty()) return library_takes_device_memory();
  if (word == "staged") return false;
  if (word == "direct") return true;
  throw BadArgument(message("TRELLIS_GPU_MESSAGES=", word, " is not among staged, direct"));
}

/// Null on all ranks where some rank gets no shared memory, or Error if it is required.
TransportPtr make_through_node_memory(Communicator& communicator, const Messages& sends,
                                      const Messages& receives, TransportWay way, bool is_required) {
  TransportPtr transport = way == TransportWay::copied ? make_copied_transport(communicator, sends, receives)
                                                       : make_shared_transport(communicator, sends, receives);
  if (!communicator.any(transport == nullptr)) return transport;
  NodeMemory& memory = communicator.node_memory();
  const std::string reason = "ranks of a node cannot share memory for halos: " +
                             (transport ? std::string("so it is on another node") : memory.failure());
  if (is_required) throw Error(reason);
  const int rank = communicator.rank();
  if (memory.is_first_report() && !transport && communicator.nodes()[size_t(rank)] == rank)
    std::fprintf(stderr, "trellis: %s. They travel as MPI messages.\n", reason.c_str());
  return nullptr;
}

TransportPtr make_between_hosts(Communicator& communicator, const Messages& sends, const Messages& receives,
                                bool is_of_gpus) {
  const TransportWay way = way_between_hosts(is_of_gpus);
  const bool is_required = exchange_policy() != ExchangePolicy::automatic;
  if (way != TransportWay::requests && communicator.can_share_memory())
    if (auto transport = make_through_node_memory(communicator, sends, receives, way, is_required))
      return transport;
  return make_requests_transport(communicator, sends, receives);
}
}  // namespace

ExchangePolicy exchange_policy() { return current(); }
void set_exchange_policy(ExchangePolicy policy) { current() = policy; }

TransportWay choose_transport(Backend backend) {
  if (backend != Backend::cuda) return way_between_hosts(false);
  return takes_device_memory() ? TransportWay::device : TransportWay::staged;
}

TransportPtr make_transport(Communicator& communicator, const Messages& sends, const Messages& receives,
                            Backend backend) {
  switch (choose_transport(backend)) {
    case TransportWay::device:
      return make_device_transport(communicator, sends, receives);
    case TransportWay::staged:
      return make_staged_transport(sends, receives, [&](const Messages& out, const Messages& in) {
        return make_between_hosts(communicator, out, in, true);
      });
    default:
      return make_between_hosts(communicator, sends, receives, false);
  }
}

const char* name_of(ExchangePolicy policy) {
  switch (policy) {
    case ExchangePolicy::automatic:
      return "automatic";
    case ExchangePolicy::persistent:
      return "persistent";
    case ExchangePolicy::copied:
      return "copied";
    default:
      return "shared";
  }
}

ExchangePolicy exchange_policy_by_name(const std::string& name) {
  for (const ExchangePolicy policy : {ExchangePolicy::automatic, ExchangePolicy::persistent,
                                      ExchangePolicy::shared, ExchangePolicy::copied})
    if (name == name_of(policy)) return policy;
  throw BadArgument(
      message("exchange policy \"", name, "\" is not among automatic, persistent, shared, copied"));
}

const char* name_of(TransportWay way) {
  switch (way) {
    case TransportWay::requests:
      return "requests";
    case TransportWay::shared:
      return "shared";
    case TransportWay::copied:
      return "copied";
    case TransportWay::staged:
      return "staged";
    default:
      return "device";
  }
}

}  // namespace trellis
