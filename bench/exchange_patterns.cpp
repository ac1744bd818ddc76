#include "bench/exchange_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/node_memory.hpp"

namespace trellis::bench {

namespace {
constexpr size_t cache_line = 64;

/// Returns the byte `i` of the message with a tag between two ranks.
unsigned char numbered(int from, int to, int tag, size_t i) {
  return static_cast<unsigned char>(31 * from + 17 * to + 7 * tag + 3 * int(i % 251) + 1);
}

TransportPtr make(TransportWay way, const Pattern& pattern) {
  Communicator& comm = *world();
  if (way == TransportWay::requests) return make_requests_transport(comm, pattern.sends, pattern.receives);
  TransportPtr transport = way == TransportWay::shared
                               ? make_shared_transport(comm, pattern.sends, pattern.receives)
                               : make_copied_transport(comm, pattern.sends, pattern.receives);
  return comm.any(transport == nullptr) ? nullptr : std::move(transport);
}
}  // namespace

const char* name_of(Pairing pairing) { return pairing == Pairing::next ? "next" : "across"; }

int partner(Pairing pairing, int rank, int ranks, int pairs) {
  const int half = ranks / 2, distance = pairing == Pairing::next ? 1 : half;
  const int pair = pairing == Pairing::next ? rank / 2 : rank % half;
  const bool is_second = pairing == Pairing::next ? rank % 2 == 1 : rank >= half;
  if (rank >= 2 * half || pair >= pairs) return -1;
  return is_second ? rank - distance : rank + distance;
}

std::vector<int> grid_of(int ranks, int directions) {
  if (directions == 1) return ranks >= 2 ? std::vector<int>{ranks} : std::vector<int>{};
  std::vector<int> best;
  for (int first = 2; 2 * first <= ranks; ++first) {
    if (ranks % first != 0) continue;
    std::vector<int> rest = grid_of(ranks / first, directions - 1);
    if (rest.empty()) continue;
    rest.insert(rest.begin(), first);
    const auto longest = [](const std::vector<int>& grid) {
      return *std::max_element(grid.begin(), grid.end());
    };
    if (best.empty() || longest(rest) < longest(best)) best = rest;
  }
  return best;
}

Pattern neighbours(const std::vector<int>& grid, int rank, size_t bytes) {
  Pattern pattern;
  for (int mu = 0, stride = 1; mu < int(grid.size()); stride *= grid[size_t(mu++)]) {
    const int extent = grid[size_t(mu)], place = rank / stride % extent;
    for (const int step : {1, -1}) {
      const int to = rank + ((place + step + extent) % extent - place) * stride;
      const int from = rank + ((place - step + extent) % extent - place) * stride;
      const int tag = 2 * mu + (step > 0 ? 0 : 1);
      pattern.sends.push_back({to, tag, nullptr, bytes});
      pattern.receives.push_back({from, tag, nullptr, bytes});
    }
  }
  return pattern;
}

Pattern merged(const Pattern& pattern) {
  const auto by_peer = [](const std::vector<Message>& messages) {
    std::vector<Message> all;
    for (const Message& m : messages) {
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const Message& a) { return a.peer == m.peer; });
      if (same == all.end()) {
        all.push_back(m);
        continue;
      }
      same->bytes += m.bytes;
      same->tag = std::min(same->tag, m.tag);  // it is that of both ranks
    }
    return all;
  };
  return {by_peer(pattern.sends), by_peer(pattern.receives)};
}

Pattern part_of(const Pattern& pattern, int part, int parts) {
  Pattern result;
  for (size_t i = size_t(part); i < pattern.sends.size(); i += size_t(parts)) {
    result.sends.push_back(pattern.sends[i]);
    result.receives.push_back(pattern.receives[i]);
  }
  return result;
}

Pattern with_partner(int partner, size_t bytes, int count) {
  Pattern pattern;
  if (partner < 0) return pattern;
  for (int tag = 0; tag < count; ++tag) {
    pattern.sends.push_back({partner, tag, nullptr, bytes});
    pattern.receives.push_back({partner, tag, nullptr, bytes});
  }
  return pattern;
}

std::string where(const Pattern& pattern) {
  Communicator& comm = *world();
  const std::vector<int>& nodes = comm.nodes();
  bool is_near = false, is_far = false;
  for (const std::vector<Message>* messages : {&pattern.sends, &pattern.receives})
    for (const Message& m : *messages)
      (nodes[size_t(m.peer)] == nodes[size_t(comm.rank())] ? is_near : is_far) = true;
  is_near = comm.any(is_near);
  is_far = comm.any(is_far);
  return is_near && is_far ? "both" : is_far ? "between nodes" : "in a node";
}

int most_ranks_of_a_node() {
  std::map<int, int> ranks;
  int most = 0;
  for (const int node : world()->nodes()) most = std::max(most, ++ranks[node]);
  return most;
}

namespace {
/// Returns the ranks of world() in another order for each number from 1 on.
std::vector<int> rotated(int number) {
  std::vector<int> ranks;
  for (int i = 0; i < world()->size(); ++i) ranks.push_back((i + number) % world()->size());
  return ranks;
}

TransportPtr make_by_communicator(int number, Pattern pattern) {
  if (number == 0) return make(TransportWay::requests, pattern);
  const std::vector<int> ranks = rotated(number);
  const CommunicatorPtr communicator = world()->subset(ranks);
  for (std::vector<Message>* messages : {&pattern.sends, &pattern.receives})
    for (Message& m : *messages) m.peer = int(std::find(ranks.begin(), ranks.end(), m.peer) - ranks.begin());
  return make_requests_transport(*communicator, pattern.sends, pattern.receives);
}
}  // namespace

MeasuredExchange::MeasuredExchange(TransportWay way, const Pattern& pattern)
    : MeasuredExchange(make(way, pattern), pattern) {}

MeasuredExchange::MeasuredExchange(int communicator, const Pattern& pattern)
    : MeasuredExchange(make_by_communicator(communicator, pattern), pattern) {}

MeasuredExchange::MeasuredExchange(TransportPtr transport, const Pattern& pattern)
    : pattern_{pattern}, transport_{std::move(transport)} {
  size_t longest = 0;
  for (const Message& m : pattern_.sends) longest = std::max(longest, m.bytes);
  source_.assign(longest, 1);
}

void MeasuredExchange::start() {
  transport_->start([this] {
    for (size_t i = 0; i < pattern_.sends.size(); ++i)
      std::memcpy(transport_->outgoing(int(i)), source_.data(), pattern_.sends[i].bytes);
  });
}

void MeasuredExchange::wait() {
  transport_->wait([this] {
    for (size_t i = 0; i < pattern_.receives.size(); ++i) {
      const auto* data = static_cast<const volatile unsigned char*>(transport_->incoming(int(i)));
      for (size_t at = 0; at < pattern_.receives[i].bytes; at += cache_line) seen_ += data[at];
    }
  });
}

void MeasuredExchange::check() {
  const int own = world()->rank();
  transport_->start([&] {
    for (size_t i = 0; i < pattern_.sends.size(); ++i) {
      const Message& m = pattern_.sends[i];
      auto* data = static_cast<unsigned char*>(transport_->outgoing(int(i)));
      for (size_t at = 0; at < m.bytes; ++at) data[at] = numbered(own, m.peer, m.tag, at);
    }
  });
  int64_t wrong = 0;
  transport_->wait([&] {
    for (size_t i = 0; i < pattern_.receives.size(); ++i) {
      const Message& m = pattern_.receives[i];
      const auto* data = static_cast<const unsigned char*>(transport_->incoming(int(i)));
      for (size_t at = 0; at < m.bytes; ++at) wrong += data[at] != numbered(m.peer, own, m.tag, at) ? 1 : 0;
    }
  });
  const double all = world()->maximum(double(wrong));
  if (all > 0)
    throw Error(
        message(name_of(transport_->way()), ": ", all, " bytes arrived on a rank that were not sent"));
}

}  // namespace trellis::bench
