#pragma once
/// The ranks of a node share this memory.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trellis/base/precision.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/peer_memory.hpp"

namespace trellis {

/// The ranks of a node have shared memory, of the host or of their GPUs, in segments that are leased to
/// transports. Segments live as long as this: transports may end in any order on any rank.
class NodeMemory {
 public:
  /// Prepares the memory. Collective over `all`, whose node() is not null.
  explicit NodeMemory(Communicator& all);

  /// Returns the rank within the node of a rank of the communicator, -1 for ranks of other nodes.
  int node_rank(int rank) const { return node_rank_[size_t(rank)]; }

  struct Segment {
    Segment(size_t part_bytes, size_t ranks, Backend where)
        : bytes{part_bytes}, backend{where}, parts(ranks, nullptr) {}
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment();
    size_t bytes;               ///< each rank's part is so long
    Backend backend;            ///< the parts are memory of the host, or of each rank's GPU (cuda)
    std::vector<char*> parts;   ///< the parts are mapped; the index is the rank within the node
    int own = -1;               ///< the rank whose part is memory of this process's GPU, and no mapping
    cuda::PeerHandle handle{};  ///< it names that part for the others
    bool is_leased = false;
  };
  /// Returns a segment with at least `bytes` in each part, the same on all ranks; it goes back when the
  /// pointer dies. Returns null on all ranks of the node where one of them gets no such memory (failure()
  /// says why). Collective over the node, with a barrier.
  std::shared_ptr<Segment> lease(size_t bytes, Backend backend = Backend::cpu);
  /// Says why the last lease() gave none.
  const std::string& failure() const { return failure_; }
  /// Says so of a transport that has such memory and cannot use it.
  void set_failure(const std::string& failure) { failure_ = failure; }
  /// Returns true the first time: users are told once that memory cannot be shared.
  bool is_first_report() { return !std::exchange(has_reported_, true); }
  char* own(const Segment& segment) const { return segment.parts[size_t(node_->rank())]; }
  void barrier() { node_->barrier(); }

 private:
  std::shared_ptr<Segment> make_on_host(size_t bytes);
  std::shared_ptr<Segment> make_on_gpus(size_t bytes);
  /// Returns true if no rank of the node has a failure; if one has, failure_ is that of the first.
  bool agree(const std::string& failure);

  CommunicatorPtr node_;
  std::vector<int> node_rank_;
  std::vector<std::shared_ptr<Segment>> segments_;
  std::string failure_;
  bool has_reported_ = false;
};

}  // namespace trellis
