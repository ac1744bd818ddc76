#include "trellis/comm/communicator.hpp"

#include <algorithm>
#include <cstdint>

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/node_memory.hpp"

namespace trellis {

Communicator::FirstError Communicator::first_error(const std::string& error) {
  const double first = minimum(error.empty() ? double(size()) : double(rank()));
  if (first >= size()) return {};
  const int root = int(first);
  size_t length = error.size();
  broadcast(&length, sizeof(length), root);
  std::string text = error;
  text.resize(length);
  broadcast(text.data(), length, root);
  return {text, root};
}

std::string Communicator::agreed_text(const std::string& error) {
  const FirstError first = first_error(error);
  if (first.text.empty()) return {};
  const bool is_alone = size() == 1 && world_rank(0) == 0;
  return is_alone ? first.text : message(first.text, " (seen on rank ", world_rank(first.rank), ")");
}

void Communicator::agree_on_error(const std::string& error) {
  if (const std::string text = agreed_text(error); !text.empty()) throw FileError(text);
}

void Communicator::agree_on_argument(const std::string& error) {
  if (const std::string text = agreed_text(error); !text.empty()) throw BadArgument(text);
}

namespace {
/// Says why these are no ranks of a communicator of that size. It is empty if they are.
std::string why_no_subset(const std::vector<int>& ranks, int size) {
  if (ranks.empty()) return message("a subset of ", size, " ranks has at least one rank, found none");
  std::vector<bool> is_named(static_cast<size_t>(size), false);
  for (const int rank : ranks) {
    if (rank < 0 || rank >= size)
      return message("a subset of ", size, " ranks names ranks from 0 to ", size - 1, ", found ", rank);
    if (is_named[size_t(rank)])
      return message("a subset of ", size, " ranks names each rank once, found rank ", rank, " twice");
    is_named[size_t(rank)] = true;
  }
  return {};
}
}  // namespace

CommunicatorPtr Communicator::subset(const std::vector<int>& ranks) {
  agree_on_argument(why_no_subset(ranks, size()));
  // The place of each rank is the same information in equal lengths.
  std::vector<int> place(size_t(size()), -1), of_first;
  for (size_t i = 0; i < ranks.size(); ++i) place[size_t(ranks[i])] = int(i);
  of_first = place;
  broadcast(of_first.data(), of_first.size() * sizeof(int), 0);
  agree_on_argument(
      place == of_first ? "" : "a subset is the same list on all ranks, found another list than on rank 0");
  const auto [entry, is_new] = subsets_.try_emplace(ranks);
  if (is_new) entry->second = make_subset(ranks);
  return entry->second;
}

NodeMemory& Communicator::node_memory() {
  TRELLIS_REQUIRE(can_share_memory(), "ranks of the communicator \"", name(), "\" share no memory");
  if (!node_memory_) node_memory_ = std::make_shared<NodeMemory>(*this);
  return *node_memory_;
}

}  // namespace trellis
