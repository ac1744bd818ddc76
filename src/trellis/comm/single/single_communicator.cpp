#include "trellis/comm/single/single_communicator.hpp"

#include <cstring>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
/// Copies each send to the receive with its tag.
class CopyExchange final : public Exchange {
 public:
  CopyExchange(const std::vector<Message>& sends, const std::vector<Message>& receives) {
    for (const Message& send : sends)
      for (const Message& receive : receives)
        if (send.tag == receive.tag) {
          TRELLIS_REQUIRE(send.bytes == receive.bytes, "message with tag ", send.tag, " has ", send.bytes,
                          " bytes, its receiver expects ", receive.bytes);
          pairs_.push_back({send, receive});
        }
    TRELLIS_REQUIRE(pairs_.size() == sends.size() && pairs_.size() == receives.size(), sends.size(),
                    " sends and ", receives.size(), " receives do not match");
  }
  void start() override {
    for (const auto& [send, receive] : pairs_) std::memcpy(receive.data, send.data, send.bytes);
  }
  void wait() override {}

 private:
  std::vector<std::pair<Message, Message>> pairs_;
};
}  // namespace

std::unique_ptr<Exchange> SingleCommunicator::make_exchange(const std::vector<Message>& sends,
                                                            const std::vector<Message>& receives) {
  return std::make_unique<CopyExchange>(sends, receives);
}

}  // namespace trellis
