#pragma once
/// One process plays a rank of many: lattices are cut as over all of them, and the messages of halos go to
/// the process itself. Measurements of halos need no second GPU, and each rank's hop on a periodic field is
/// tested against the one that nobody cuts.
#include "trellis/comm/communicator.hpp"

namespace trellis {

class PlayedRank final : public Communicator {
 public:
  /// Plays rank 0 of `ranks`. Throws BadArgument unless this process is alone. @pre ranks >= 1
  explicit PlayedRank(int ranks);

  /// Returns the communicator that it is alone in.
  Communicator& process() { return *process_; }

  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  const char* name() const override { return "played"; }
  void barrier() override {}
  void broadcast(void*, size_t, int) override {}
  /// The other ranks have nothing to add.
  void sum(ExactSum* sums, int count) override { process_->sum(sums, count); }
  void exclusive_or(unsigned*, int) override {}
  double maximum(double value) override { return value; }
  double minimum(double value) override { return value; }
  const std::vector<int>& nodes() const override { return nodes_; }
  int world_rank(int) const override { return 0; }
  bool can_share_memory() const override { return process_->can_share_memory(); }
  CommunicatorPtr node() override { return process_->node(); }
  /// Each rank sends what this one sends.
  Parts alltoallv(const void* data, const std::vector<size_t>& bytes) override;
  /// Messages to other ranks come back as if from them: they are matched by tag. @pre tags differ
  std::unique_ptr<Exchange> make_exchange(const std::vector<Message>& sends,
                                          const std::vector<Message>& receives) override;

 protected:
  CommunicatorPtr make_subset(const std::vector<int>& ranks) override;

 private:
  int ranks_;
  CommunicatorPtr process_;
  std::vector<int> nodes_;
};

}  // namespace trellis
