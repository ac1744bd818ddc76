#pragma once
/// The messages of a halo exchange, from kernels that write them to kernels that read them, on any backend.
///
/// On the host kernels write and read the messages in the exchange's own memory. On a GPU the kernels run in
/// a stream beside the main one: start() packs behind what the main stream holds and copies the messages to
/// page-locked memory; finish(), which the caller reaches after launching the inner sites, sends, receives,
/// copies back and unpacks while the GPU computes. An MPI library that takes device pointers is given them,
/// without copies (comm/exchange_policy.hpp).
#include <deque>
#include <functional>
#include <memory>

#include "trellis/comm/communicator.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"

namespace trellis {

class HaloMessages {
 public:
  explicit HaloMessages(Backend backend);
  ~HaloMessages();

  /// A message of `bytes` to the rank `to` and its counterpart from the rank `from`. Returns its number.
  int add(int to, int from, int tag, size_t bytes);
  /// After the last add(). Collective.
  void connect(Communicator& communicator);

  /// As kernels see them; on the host they change from exchange to exchange. @pre connected
  void* send_buffer(int number);           ///< in pack()
  void* receive_buffer(int number) const;  ///< from unpack() until the next start()
  /// Runs pack(), which fills the send buffers, and sends them. @pre connected
  void start(const std::function<void()>& pack);
  /// Waits for the messages, then runs unpack().
  void finish(const std::function<void()>& unpack);

  size_t bytes_held() const;  ///< by the messages, here

 private:
  struct Entry {
    int to, from, tag;
    size_t bytes;
    Memory send, receive;                                             ///< on a GPU
    std::unique_ptr<cuda::PinnedMemory> staged_send, staged_receive;  ///< copies through the host only
  };
  Backend backend_;
  bool is_staged_;
  std::deque<Entry> entries_;
  std::unique_ptr<cuda::Stream> stream_;  ///< on a GPU, once connected
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace trellis
