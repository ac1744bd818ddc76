#pragma once
/// Messages between ranks of one node through memory that they share.
#define OMPI_SKIP_MPICXX 1  // the C++ bindings of MPI-2 are not wanted
#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "trellis/comm/communicator.hpp"

namespace trellis {

/// Shared memory of the ranks of a node, in segments that are leased to exchanges. Segments live as long as
/// this: exchanges may end in any order on any rank.
class SharedSegments {
 public:
  /// Collective over comm.
  explicit SharedSegments(MPI_Comm comm);

  /// Rank within the node of a rank of comm, -1 for ranks of other nodes.
  int node_rank(int rank) const { return node_rank_[size_t(rank)]; }
  int ranks_of_node() const { return node_size_; }

  struct Segment {
    Segment(size_t part_bytes, size_t ranks) : bytes{part_bytes}, parts(ranks, nullptr) {}
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment();
    size_t bytes;              ///< of each rank's part
    std::vector<char*> parts;  ///< by rank within the node, mapped
    bool is_leased = false;
  };
  /// A segment with at least `bytes` in each part, the same on all ranks; it returns when the pointer dies.
  /// Null on all ranks of the node where one of them gets no such memory (failure() says why). Collective
  /// over the node, with a barrier.
  std::shared_ptr<Segment> lease(size_t bytes);
  /// Why the last lease() gave none.
  const std::string& failure() const { return failure_; }
  char* own(const Segment& segment) const { return segment.parts[size_t(own_rank_)]; }
  void barrier();

 private:
  std::shared_ptr<Segment> make(size_t bytes);
  /// Whether no rank of the node has a failure; if one has, failure_ is that of the first.
  bool agree(const std::string& failure);

  MPI_Comm node_;
  int own_rank_ = 0, node_size_ = 1;
  std::vector<int> node_rank_;
  std::vector<std::shared_ptr<Segment>> segments_;
  std::string failure_;
};

/// What becomes of messages without data: written and read where they are shared, or copied.
enum class SharedUse { in_place, copied };

/// An exchange whose messages within the node go through the sender's part of a segment. Collective over all
/// ranks of the communicator. Null on all ranks of a node that shares no memory.
std::unique_ptr<Exchange> make_shared_exchange(
    MPI_Comm comm, SharedSegments& segments, SharedUse use, const std::vector<Message>& sends,
    const std::vector<Message>& receives,
    std::unique_ptr<Exchange> (*make_remote)(MPI_Comm, const std::vector<Message>&,
                                             const std::vector<Message>&));

}  // namespace trellis
