#include "trellis/field/halo_messages.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/exchange_policy.hpp"

namespace trellis {

HaloMessages::HaloMessages(Backend backend)
    : backend_{backend}, is_staged_{backend == Backend::cuda && !takes_device_memory()} {}

HaloMessages::~HaloMessages() = default;

int HaloMessages::add(int to, int from, int tag, size_t bytes) {
  TRELLIS_REQUIRE(exchange_ == nullptr, "a message is added to a halo exchange that is connected");
  Entry& entry = entries_.emplace_back(Entry{to, from, tag, bytes, {}, {}, {}, {}});
  if (backend_ == Backend::cuda) {
    entry.send = Memory(bytes, backend_);
    entry.receive = Memory(bytes, backend_);
  }
  if (is_staged_) {
    entry.staged_send = std::make_unique<cuda::PinnedMemory>(bytes);
    entry.staged_receive = std::make_unique<cuda::PinnedMemory>(bytes);
  }
  return int(entries_.size()) - 1;
}

void HaloMessages::connect(Communicator& communicator) {
  if (backend_ == Backend::cuda) stream_ = std::make_unique<cuda::Stream>();
  std::vector<Message> sends, receives;
  for (Entry& e : entries_) {
    sends.push_back({e.to, e.tag, is_staged_ ? e.staged_send->data() : e.send.data(), e.bytes});
    receives.push_back({e.from, e.tag, is_staged_ ? e.staged_receive->data() : e.receive.data(), e.bytes});
  }
  exchange_ = make_halo_exchange(communicator, sends, receives, backend_);
}

void* HaloMessages::send_buffer(int number) {
  return is_staged_ ? entries_[size_t(number)].send.data() : exchange_->outgoing(number);
}

void* HaloMessages::receive_buffer(int number) const {
  return is_staged_ ? const_cast<void*>(entries_[size_t(number)].receive.data())
                    : exchange_->incoming(number);
}

void HaloMessages::start(const std::function<void()>& pack) {
  if (!stream_) {
    pack();
    return exchange_->start();
  }
  stream_->follow_main();
  const cuda::Stream::Scope scope(*stream_);
  pack();
  if (!is_staged_) return;
  for (Entry& e : entries_) stream_->copy_to_host(e.staged_send->data(), e.send.data(), e.bytes);
}

void HaloMessages::finish(const std::function<void()>& unpack) {
  if (!stream_) {
    exchange_->wait();
    return unpack();
  }
  stream_->wait();
  exchange_->start();
  exchange_->wait();
  const cuda::Stream::Scope scope(*stream_);
  if (is_staged_)
    for (size_t i = 0; i < entries_.size(); ++i)
      stream_->copy_from_host(receive_buffer(int(i)), entries_[i].staged_receive->data(), entries_[i].bytes);
  unpack();
  stream_->precede_main();
}

size_t HaloMessages::bytes_held() const {
  size_t sum = 0;
  for (const Entry& e : entries_) sum += 2 * e.bytes;
  return sum;
}

}  // namespace trellis
