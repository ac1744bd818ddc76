#include "trellis/comm/played_rank.hpp"

#include <numeric>

#include "trellis/base/error.hpp"
#include "trellis/comm/alltoallv.hpp"

namespace trellis {

PlayedRank::PlayedRank(int ranks) : ranks_{ranks}, process_{world()}, nodes_(size_t(ranks), 0) {
  if (process_->size() != 1)
    throw BadArgument(
        message("a process that sends halos to itself is alone: expected 1 rank, found ", process_->size()));
}

Parts PlayedRank::alltoallv(const void* data, const std::vector<size_t>& bytes) {
  require_bytes_for_each_rank(bytes.size(), ranks_, 0);
  const auto* begin = static_cast<const std::byte*>(data);
  return {{begin, begin + std::accumulate(bytes.begin(), bytes.end(), size_t(0))}, bytes};
}

std::unique_ptr<Exchange> PlayedRank::make_exchange(const std::vector<Message>& sends,
                                                    const std::vector<Message>& receives) {
  std::vector<Message> out = sends, in = receives;
  for (std::vector<Message>* messages : {&out, &in})
    for (Message& m : *messages) m.peer = 0;
  return process_->make_exchange(out, in);
}

CommunicatorPtr PlayedRank::make_subset(const std::vector<int>& ranks) {
  return std::make_shared<PlayedRank>(int(ranks.size()));
}

}  // namespace trellis
