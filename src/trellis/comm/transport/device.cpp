/// Halos of fields on GPUs travel by an MPI library that takes the addresses of their memory.
#include "trellis/comm/transport/gpu_messages.hpp"
#include "trellis/comm/transport/transport.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis {

namespace {
class DeviceTransport final : public HaloTransport {
 public:
  DeviceTransport(Communicator& communicator, const Messages& sends, const Messages& receives)
      : HaloTransport{receives.size()},
        sends_{memory_.complete(sends)},
        receives_{memory_.complete(receives)},
        exchange_{communicator.make_exchange(sends_, receives_)} {}
  TransportWay way() const override { return TransportWay::device; }
  void* outgoing(int number) override { return sends_[size_t(number)].data; }
  void* incoming(int number) override { return receives_[size_t(number)].data; }
  /// Packs in the stream beside the main one, behind what that one holds.
  void start(const std::function<void()>& pack) override {
    is_under_way_ = true;
    stream_.follow_main();
    const cuda::Stream::Scope scope(stream_);
    pack();
  }
  bool has_arrived(int) override { return !is_under_way_; }
  /// Waits for the messages. Callers come here after launching the inner sites, which the GPU computes
  /// meanwhile.
  void wait(const std::function<void()>& unpack) override {
    stream_.wait();
    exchange_->start();
    exchange_->wait();
    is_under_way_ = false;
    const cuda::Stream::Scope scope(stream_);
    unpack();
    stream_.precede_main();
  }

 private:
  GpuMessageMemory memory_;
  Messages sends_, receives_;
  cuda::Stream stream_;
  std::unique_ptr<Exchange> exchange_;
  bool is_under_way_ = false;
};
}  // namespace

TransportPtr make_device_transport(Communicator& communicator, const Messages& sends,
                                   const Messages& receives) {
  return std::make_unique<DeviceTransport>(communicator, sends, receives);
}

}  // namespace trellis
