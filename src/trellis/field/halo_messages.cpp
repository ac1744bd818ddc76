#include "trellis/field/halo_messages.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"

namespace trellis {

HaloMessages::HaloMessages(Backend backend) : backend_{backend} {}

HaloMessages::~HaloMessages() = default;

int HaloMessages::add(int to, int from, int tag, size_t bytes) {
  TRELLIS_REQUIRE(transport_ == nullptr, "a message is added to a halo exchange that is connected");
  sends_.push_back({to, tag, nullptr, bytes});
  receives_.push_back({from, tag, nullptr, bytes});
  return int(sends_.size()) - 1;
}

void HaloMessages::connect(Communicator& communicator, const Geometry& geometry, int columns,
                           size_t scalar_bytes) {
  transport_ = make_transport(communicator, sends_, receives_, {backend_, &geometry, columns, scalar_bytes});
}

void* HaloMessages::send_buffer(int number) { return transport_->outgoing(number); }

void* HaloMessages::receive_buffer(int number) const { return transport_->incoming(number); }

void HaloMessages::start(const std::function<void()>& pack) { transport_->start(pack); }

void HaloMessages::finish(const std::function<void()>& unpack) { transport_->wait(unpack); }

size_t HaloMessages::bytes_sent() const {
  size_t sum = 0;
  for (const Message& m : sends_) sum += m.bytes;
  return sum;
}

size_t HaloMessages::bytes_held() const { return 2 * bytes_sent(); }

}  // namespace trellis
