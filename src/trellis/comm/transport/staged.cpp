/// Halos of fields on GPUs go through page-locked memory of the host.
#include <deque>

#include "trellis/comm/transport/gpu_messages.hpp"
#include "trellis/comm/transport/transport.hpp"
#include "trellis/device/gpu.hpp"

namespace trellis {

namespace {
class StagedTransport final : public HaloTransport {
 public:
  StagedTransport(const Messages& sends, const Messages& receives,
                  const std::function<TransportPtr(const Messages&, const Messages&)>& make)
      : HaloTransport{receives.size()},
        sends_{memory_.complete(sends)},
        receives_{memory_.complete(receives)},
        host_sends_{on_host(sends_)},
        host_receives_{on_host(receives_)},
        between_hosts_{make(host_sends_, host_receives_)} {}
  TransportWay way() const override { return TransportWay::staged; }
  void* outgoing(int number) override { return sends_[size_t(number)].data; }
  void* incoming(int number) override { return receives_[size_t(number)].data; }
  /// Packs in the stream beside the main one, behind what that one holds, and copies to the host.
  void start(const std::function<void()>& pack) override {
    is_under_way_ = true;
    stream_.follow_main();
    const cuda::Stream::Scope scope(stream_);
    pack();
    for (size_t i = 0; i < sends_.size(); ++i)
      stream_.copy_to_host(host_sends_[i].data, sends_[i].data, sends_[i].bytes);
  }
  bool has_arrived(int) override { return !is_under_way_; }
  /// Waits for the messages. Callers come here after launching the inner sites, which the GPU computes
  /// meanwhile.
  void wait(const std::function<void()>& unpack) override {
    stream_.wait();
    between_hosts_->start([] {});
    between_hosts_->wait([] {});
    is_under_way_ = false;
    const cuda::Stream::Scope scope(stream_);
    for (size_t i = 0; i < receives_.size(); ++i)
      stream_.copy_from_host(receives_[i].data, host_receives_[i].data, receives_[i].bytes);
    unpack();
    stream_.precede_main();
  }

 private:
  Messages on_host(Messages messages) {
    for (Message& m : messages) m.data = pinned_.emplace_back(m.bytes).data();
    return messages;
  }
  GpuMessageMemory memory_;
  std::deque<cuda::PinnedMemory> pinned_;  // it cannot be moved
  Messages sends_, receives_, host_sends_, host_receives_;
  cuda::Stream stream_;
  TransportPtr between_hosts_;
  bool is_under_way_ = false;
};
}  // namespace

TransportPtr make_staged_transport(
    const Messages& sends, const Messages& receives,
    const std::function<TransportPtr(const Messages&, const Messages&)>& make) {
  return std::make_unique<StagedTransport>(sends, receives, make);
}

}  // namespace trellis
