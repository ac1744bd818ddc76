#pragma once
/// The messages of a halo exchange, from kernels that write them to kernels that read them, on any backend.
/// How they travel is decided in comm/transport/choice.hpp alone.
#include <functional>
#include <memory>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/device/memory.hpp"

namespace trellis {

class Geometry;
class HaloTransport;

class HaloMessages {
 public:
  explicit HaloMessages(Backend backend);
  ~HaloMessages();

  /// A message of `bytes` to the rank `to` and its counterpart from the rank `from`. Returns its number.
  int add(int to, int from, int tag, size_t bytes);
  /// After the last add(). What travels tells the tuner which halo it is: one of a lattice's, with so many
  /// columns and bytes of a number. Collective.
  void connect(Communicator& communicator, const Geometry& geometry, int columns, size_t scalar_bytes);

  /// As kernels see them; on the host they change from exchange to exchange. @pre connected
  void* send_buffer(int number);           ///< in pack()
  void* receive_buffer(int number) const;  ///< from unpack() until the next start()
  /// Runs pack(), which fills the send buffers, and sends them. Callers launch the inner sites before
  /// finish(): GPUs compute them while the messages travel. @pre connected
  void start(const std::function<void()>& pack);
  /// Waits for the messages, then runs unpack().
  void finish(const std::function<void()>& unpack);

  size_t bytes_sent() const;  ///< per exchange
  size_t bytes_held() const;  ///< by the messages, here

 private:
  Backend backend_;
  std::vector<Message> sends_, receives_;
  std::unique_ptr<HaloTransport> transport_;  ///< once connected
};

}  // namespace trellis
