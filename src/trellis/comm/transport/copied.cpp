/// Halos go through memory that ranks of a node share, with copies from and to memory of each rank's own.
#include "trellis/comm/message_memory.hpp"
#include "trellis/comm/transport/transport.hpp"

namespace trellis {

namespace {
/// A shared transport copies the messages that have data of their own.
class CopiedTransport final : public HaloTransport {
 public:
  CopiedTransport(MessageMemory memory, TransportPtr shared, size_t receives)
      : HaloTransport{receives}, memory_{std::move(memory)}, shared_{std::move(shared)} {}
  TransportWay way() const override { return TransportWay::copied; }
  void* outgoing(int number) override { return shared_->outgoing(number); }
  void* incoming(int number) override { return shared_->incoming(number); }
  void start(const std::function<void()>& pack) override { shared_->start(pack); }
  bool has_arrived(int number) override { return shared_->has_arrived(number); }
  void wait(const std::function<void()>& unpack) override { shared_->wait(unpack); }
  void wait_each(const std::function<void(int)>& unpack) override { shared_->wait_each(unpack); }

 private:
  MessageMemory memory_;
  TransportPtr shared_;
};
}  // namespace

TransportPtr make_copied_transport(Communicator& communicator, const Messages& sends,
                                   const Messages& receives) {
  MessageMemory memory;
  TransportPtr shared =
      make_shared_transport(communicator, memory.complete(sends), memory.complete(receives));
  if (!shared) return nullptr;
  return std::make_unique<CopiedTransport>(std::move(memory), std::move(shared), receives.size());
}

}  // namespace trellis
