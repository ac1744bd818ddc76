#include "trellis/comm/single/single_communicator.hpp"

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/alltoallv.hpp"
#include "trellis/comm/message_memory.hpp"
#include "trellis/comm/traffic.hpp"

namespace trellis {

namespace {
/// Copies each send to the receive with its tag.
class CopyExchange final : public Exchange {
 public:
  CopyExchange(const std::vector<Message>& sends, const std::vector<Message>& receives)
      : sends_{memory_.complete(sends)}, receives_{memory_.complete(receives)} {
    for (const Message& send : sends_)
      for (const Message& receive : receives_)
        if (send.tag == receive.tag) {
          TRELLIS_REQUIRE(send.bytes == receive.bytes, "message with tag ", send.tag, " has ", send.bytes,
                          " bytes, its receiver expects ", receive.bytes);
          pairs_.push_back({send, receive});
        }
    TRELLIS_REQUIRE(pairs_.size() == sends_.size() && pairs_.size() == receives_.size(), sends_.size(),
                    " sends and ", receives_.size(), " receives do not match");
    expect_messages(sends_);
  }
  void start() override {
    count_messages(sends_);
    for (const auto& [send, receive] : pairs_) std::memcpy(receive.data, send.data, send.bytes);
  }
  bool has_arrived(int) override { return true; }
  void wait() override {}
  void* outgoing(int number) override { return sends_[size_t(number)].data; }
  void* incoming(int number) override { return receives_[size_t(number)].data; }

 private:
  MessageMemory memory_;
  std::vector<Message> sends_, receives_;
  std::vector<std::pair<Message, Message>> pairs_;
};
}  // namespace

void SingleCommunicator::sum(ExactSum*, int) {
  ++traffic().sums;
  if (take_stop_request()) agree_to_stop();
}

std::unique_ptr<Exchange> SingleCommunicator::make_exchange(const std::vector<Message>& sends,
                                                            const std::vector<Message>& receives) {
  return std::make_unique<CopyExchange>(sends, receives);
}

Parts SingleCommunicator::alltoallv(const void* data, const std::vector<size_t>& bytes) {
  require_bytes_for_each_rank(bytes.size(), 1, 0);
  const auto* begin = static_cast<const std::byte*>(data);
  return {{begin, begin + bytes[0]}, bytes};
}

}  // namespace trellis
