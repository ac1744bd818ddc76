#pragma once
/// This is the communicator of one process: messages to itself are copies.
#include "trellis/comm/communicator.hpp"

namespace trellis {

class SingleCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const char* name() const override { return "single"; }
  void barrier() override {}
  void broadcast(void*, size_t, int) override {}
  void sum(ExactSum*, int) override;
  void exclusive_or(unsigned*, int) override {}
  double maximum(double value) override { return value; }
  double minimum(double value) override { return value; }
  const std::vector<int>& nodes() const override { return nodes_; }
  int world_rank(int) const override { return 0; }
  bool can_share_memory() const override { return false; }
  CommunicatorPtr node() override { return std::make_shared<SingleCommunicator>(); }
  Parts alltoallv(const void* data, const std::vector<size_t>& bytes) override;
  std::unique_ptr<Exchange> make_exchange(const std::vector<Message>& sends,
                                          const std::vector<Message>& receives) override;

 protected:
  CommunicatorPtr make_subset(const std::vector<int>&) override {
    return std::make_shared<SingleCommunicator>();
  }

 private:
  std::vector<int> nodes_{0};
};

}  // namespace trellis
