#include "trellis/comm/transport/choice.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "trellis/base/cache_line.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/played_rank.hpp"
#include "trellis/comm/transport/node_memory.hpp"
#include "trellis/device/common_choice.hpp"
#include "trellis/device/flagged_exchange.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis {

namespace {

ExchangePolicy& current_policy() {
  static ExchangePolicy policy = [] {
    if (const char* former = std::getenv("TRELLIS_GPU_MESSAGES"); former != nullptr && *former != '\0')
      throw BadArgument(message("TRELLIS_GPU_MESSAGES=", former,
                                ": the variable is TRELLIS_EXCHANGE, with the same words"));
    const char* name = std::getenv("TRELLIS_EXCHANGE");
    if (name == nullptr || *name == '\0') return ExchangePolicy::automatic;
    try {
      return exchange_policy_by_name(name);
    } catch (const BadArgument& error) {
      throw BadArgument(message("TRELLIS_EXCHANGE: ", error.what()));
    }
  }();
  return policy;
}

/// Returns true where a core gets back lines that another one has written to as fast as it reads them
/// (transport/shared.cpp).
bool lines_return_fast() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

/// Chooses the way from memory of one host to that of another, or of the same.
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

/// Returns the way of GPUs that the policy names, if it names one.
std::optional<TransportWay> named_way_of_gpus() {
  switch (exchange_policy()) {
    case ExchangePolicy::staged:
      return TransportWay::staged;
    case ExchangePolicy::mapped:
      return TransportWay::mapped;
    case ExchangePolicy::direct:
      return TransportWay::device;
    case ExchangePolicy::peer:
      return TransportWay::peer;
    case ExchangePolicy::peer_copied:
      return TransportWay::peer_copied;
    case ExchangePolicy::fused:
      return TransportWay::fused;
    default:
      return std::nullopt;
  }
}

/// Returns true for the policies that leave hosts their own choice.
bool leaves_choice_to_hosts() {
  return exchange_policy() == ExchangePolicy::automatic || named_way_of_gpus();
}

/// Returns true for the ways of peer.cpp.
bool is_between_gpus(TransportWay way) {
  return way == TransportWay::peer || way == TransportWay::peer_copied || way == TransportWay::mapped ||
         way == TransportWay::fused;
}

/// Returns true if a rank has messages with another node.
bool leaves_node(const Communicator& communicator, const Messages& sends, const Messages& receives) {
  const std::vector<int>& nodes = communicator.nodes();
  const auto is_far = [&](const Message& m) {
    return nodes[size_t(m.peer)] != nodes[size_t(communicator.rank())];
  };
  return std::any_of(sends.begin(), sends.end(), is_far) ||
         std::any_of(receives.begin(), receives.end(), is_far);
}

TransportPtr make_in_node(Communicator& communicator, const Messages& sends, const Messages& receives,
                          TransportWay way) {
  if (is_between_gpus(way)) return make_peer_transport(communicator, sends, receives, way);
  return way == TransportWay::copied ? make_copied_transport(communicator, sends, receives)
                                     : make_shared_transport(communicator, sends, receives);
}

/// Makes the transport, or returns null on all ranks where some rank gets no shared memory. Throws Error
/// there if such memory is required.
TransportPtr make_through_node_memory(Communicator& communicator, const Messages& sends,
                                      const Messages& receives, TransportWay way, bool is_required) {
  TransportPtr transport = make_in_node(communicator, sends, receives, way);
  if (!communicator.any(transport == nullptr)) return transport;
  NodeMemory& memory = communicator.node_memory();
  const std::string reason =
      message("ranks of a node cannot share memory", is_between_gpus(way) ? " of their GPUs" : "",
              " for halos: ", transport ? "so it is on another node" : memory.failure());
  if (is_required) throw Error(reason);
  const int rank = communicator.rank();
  if (memory.is_first_report() && !transport && communicator.nodes()[size_t(rank)] == rank)
    std::fprintf(stderr, "trellis: %s. They travel %s.\n", reason.c_str(),
                 is_between_gpus(way) ? "through the host" : "as MPI messages");
  return nullptr;
}

TransportPtr make_between_hosts(Communicator& communicator, const Messages& sends, const Messages& receives,
                                TransportWay way) {
  const bool is_required = !leaves_choice_to_hosts();
  if (way != TransportWay::requests && communicator.can_share_memory())
    if (auto transport = make_through_node_memory(communicator, sends, receives, way, is_required))
      return transport;
  return make_requests_transport(communicator, sends, receives);
}

/// Returns true where messages travel: a process without others may have some to itself.
bool travels(const Communicator& communicator, const Messages& sends) {
  return communicator.size() > 1 || !sends.empty();
}

/// Makes a transport. `way` is that between hosts, or `device`, or one between GPUs, in whose place halos go
/// through the host where GPUs do not reach each other.
TransportPtr make_by(Communicator& communicator, const Messages& sends, const Messages& receives,
                     Backend backend, TransportWay way) {
  if (way == TransportWay::device) return make_device_transport(communicator, sends, receives);
  if (is_between_gpus(way)) {
    const bool is_required = named_way_of_gpus() == way;
    if (way == TransportWay::fused && communicator.any(leaves_node(communicator, sends, receives)))
      way = TransportWay::peer;  // flags reach the ranks of a node alone
    if (travels(communicator, sends) && communicator.can_share_memory())
      if (auto transport = make_through_node_memory(communicator, sends, receives, way, is_required))
        return transport;
    way = way_between_hosts(true);
  }
  const auto between_hosts = [&](const Messages& out, const Messages& in) {
    return make_between_hosts(communicator, out, in, way);
  };
  if (backend == Backend::cuda) return make_staged_transport(sends, receives, between_hosts);
  return between_hosts(sends, receives);
}

/// Returns the way as make_by() takes it, where the tuner does not choose.
TransportWay way_by_rule(Backend backend) {
  const TransportWay way = choose_transport(backend);
  return way == TransportWay::staged ? way_between_hosts(true) : way;
}

/// Returns the ways that make_by() can take; the way of the rule is the first.
std::vector<int> ways_to_choose_among(const Communicator& communicator, const HaloSubject& subject) {
  const Backend backend = subject.backend;
  const TransportWay by_rule = way_by_rule(backend);
  std::vector<int> ways{int(by_rule)};
  const auto named = backend == Backend::cuda ? named_way_of_gpus() : std::nullopt;
  if (!communicator.can_share_memory() || (named && *named != TransportWay::staged)) return ways;
  for (const TransportWay way : {TransportWay::requests, TransportWay::shared, TransportWay::copied,
                                 TransportWay::peer, TransportWay::peer_copied, TransportWay::mapped})
    if (way != by_rule && (!is_between_gpus(way) || (backend == Backend::cuda && !named)))
      ways.push_back(int(way));
  if (backend == Backend::cuda && !named && subject.is_of_hop) ways.push_back(int(TransportWay::fused));
  return ways;
}

Messages without_data(Messages messages) {
  for (Message& m : messages) m.data = nullptr;
  return messages;
}

/// Makes an exchange for the tuner: messages are written as kernels do it, on a GPU into another one's memory
/// where the way has it so, and on the host they are read.
void exchange_once(HaloTransport& transport, const Messages& sends, const Messages& receives,
                   bool is_on_host) {
  if (transport.way() == TransportWay::fused) {
    const HaloFlags flags = transport.begin_with_flags();
    std::vector<cuda::FlaggedMessage> messages;
    for (size_t i = 0; i < sends.size(); ++i)
      messages.push_back({transport.outgoing(int(i)), sends[i].bytes});
    cuda::exchange_with_flags(flags, messages);
    return cuda::synchronize();
  }
  transport.start([&] {
    for (size_t i = 0; i < sends.size(); ++i) {
      void* const to = transport.outgoing(int(i));
      is_on_host ? void(std::memset(to, 0, sends[i].bytes)) : cuda::set_zero(to, sends[i].bytes);
    }
  });
  transport.wait([&] {
    for (size_t i = 0; is_on_host && i < receives.size(); ++i) {
      const auto* data = static_cast<const volatile char*>(transport.incoming(int(i)));
      for (size_t at = 0; at < receives[i].bytes; at += cache_line) data[at];
    }
  });
}

TransportWay tuned_way(Communicator& communicator, const Messages& sends, const Messages& receives,
                       const HaloSubject& subject) {
  const RankAgreement ranks{communicator.rank() == 0,
                            [&](void* data, size_t bytes) { communicator.broadcast(data, bytes, 0); },
                            [&](double value) { return communicator.maximum(value); }};
  const Messages out = without_data(sends), in = without_data(receives);
  const auto attempt = [&](int way) -> std::function<void()> {
    std::shared_ptr<HaloTransport> transport =
        make_by(communicator, out, in, subject.backend, TransportWay(way));
    return [transport, &out, &in, is_on_host = subject.backend != Backend::cuda] {
      exchange_once(*transport, out, in, is_on_host);
    };
  };
  return TransportWay(choose_together(halo_key(communicator, sends, subject),
                                      ways_to_choose_among(communicator, subject), ranks, attempt));
}

/// Returns the same messages with this process at the other end.
Messages to_itself(Messages messages) {
  for (Message& m : messages) m.peer = 0;
  return messages;
}

int most_ranks_of_a_node(const Communicator& communicator) {
  std::map<int, int> ranks;
  for (const int node : communicator.nodes()) ++ranks[node];
  int most = 0;
  for (const auto& [node, count] : ranks) most = std::max(most, count);
  return most;
}
}  // namespace

ExchangePolicy exchange_policy() { return current_policy(); }
void set_exchange_policy(ExchangePolicy policy) { current_policy() = policy; }

TransportWay choose_transport(Backend backend) {
  if (backend != Backend::cuda) return way_between_hosts(false);
  if (exchange_policy() == ExchangePolicy::shared || exchange_policy() == ExchangePolicy::copied)
    return TransportWay::staged;
  if (const auto named = named_way_of_gpus()) return *named;
  if (library_takes_device_memory()) return TransportWay::device;
  return exchange_policy() == ExchangePolicy::automatic ? TransportWay::peer : TransportWay::staged;
}

TuneKey halo_key(const Communicator& communicator, const Messages& sends, const HaloSubject& subject) {
  size_t bytes = 0;
  for (const Message& m : sends) bytes += m.bytes;
  TuneKey key;
  const bool has_flags = subject.is_of_hop && subject.backend == Backend::cuda;
  key.kernel = message("halo on ", name_of(subject.backend), has_flags ? " of a hop" : "",
                       ", messages: ", sends.size());
  key.storage = message(subject.scalar_bytes, " bytes");
  key.lattice = to_string(subject.geometry->lattice());
  key.cut = message(to_string(subject.geometry->grid().extents()), ", at most ",
                    most_ranks_of_a_node(communicator), " ranks a node");
  key.columns = subject.columns;
  key.threads = thread_count();
  key.working_set_bits = int(std::bit_width(bytes));
  return key;
}

TransportPtr make_transport(Communicator& communicator, const Messages& sends, const Messages& receives,
                            const HaloSubject& subject) {
  if (auto* played = dynamic_cast<PlayedRank*>(&communicator))
    return make_transport(played->process(), to_itself(sends), to_itself(receives), subject);
  const bool is_tuned =
      subject.geometry != nullptr && travels(communicator, sends) && leaves_choice_to_hosts();
  const TransportWay way =
      is_tuned ? tuned_way(communicator, sends, receives, subject) : way_by_rule(subject.backend);
  return make_by(communicator, sends, receives, subject.backend, way);
}

const char* name_of(ExchangePolicy policy) {
  switch (policy) {
    case ExchangePolicy::automatic:
      return "automatic";
    case ExchangePolicy::persistent:
      return "persistent";
    case ExchangePolicy::copied:
      return "copied";
    case ExchangePolicy::shared:
      return "shared";
    case ExchangePolicy::staged:
      return "staged";
    case ExchangePolicy::mapped:
      return "mapped";
    case ExchangePolicy::direct:
      return "direct";
    case ExchangePolicy::peer:
      return "peer";
    case ExchangePolicy::peer_copied:
      return "peer_copied";
    default:
      return "fused";
  }
}

ExchangePolicy exchange_policy_by_name(const std::string& name) {
  std::string names;
  for (const ExchangePolicy policy : exchange_policies) {
    if (name == name_of(policy)) return policy;
    names += (names.empty() ? "" : ", ") + std::string(name_of(policy));
  }
  throw BadArgument(message("exchange policy \"", name, "\" is not among ", names));
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
    case TransportWay::peer:
      return "peer";
    case TransportWay::peer_copied:
      return "peer_copied";
    case TransportWay::mapped:
      return "mapped";
    case TransportWay::fused:
      return "fused";
    default:
      return "device";
  }
}

}  // namespace trellis
