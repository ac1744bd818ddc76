#include "trellis/field/merged_parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "trellis/field/cost.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis {

namespace {
constexpr size_t alignment = 64;  // kernels store whole vectors
/// MPI counts the bytes of a message with 31 bits.
constexpr size_t most_bytes = size_t(1) << 30;

constexpr size_t rounded(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::vector<size_t> in_order_of_tags(const std::vector<HaloPart>& parts) {
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts[a].tag < parts[b].tag; });
  return order;
}
}  // namespace

MergedParts merge_parts(const std::vector<HaloPart>& parts) {
  MergedParts merged;
  merged.places.resize(parts.size());
  std::map<int, int> open;  // the message of each peer that takes more parts
  for (const size_t i : in_order_of_tags(parts)) {
    const HaloPart& part = parts[i];
    const auto found = open.find(part.peer);
    HaloPart* message = found == open.end() ? nullptr : &merged.messages[size_t(found->second)];
    if (message != nullptr && rounded(message->bytes) + part.bytes <= most_bytes) {
      merged.places[i] = {found->second, rounded(message->bytes)};
      message->bytes = rounded(message->bytes) + part.bytes;
      continue;
    }
    open[part.peer] = int(merged.messages.size());
    merged.places[i] = {int(merged.messages.size()), 0};
    merged.messages.push_back(part);
  }
  return merged;
}

void add_merged(Cost& cost, const Geometry& geometry, const std::vector<SentMessage>& parts) {
  std::vector<HaloPart> of_ranks;
  for (const SentMessage& part : parts)
    of_ranks.push_back(
        {geometry.neighbour_rank(part.mu, part.step), int(of_ranks.size()), size_t(part.bytes)});
  const MergedParts merged = merge_parts(of_ranks);
  for (const HaloPart& message : merged.messages) {
    const SentMessage& first = parts[size_t(message.tag)];
    cost.add_message({first.mu, first.step, double(message.bytes)});
  }
}

}  // namespace trellis
