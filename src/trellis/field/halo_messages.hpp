#pragma once
/// This class has the messages of a halo exchange, from kernels that write them to kernels that read them, on
/// any backend. Parts that go to the same rank are one message (field/merged_parts.hpp). How messages travel
/// is decided in comm/transport/choice.hpp alone.
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/field/merged_parts.hpp"
#include "trellis/view/halo_flags.hpp"

namespace trellis {

/// Reals of a message have so many bytes.
constexpr size_t scalar_bytes(Precision p) {
  return p == Precision::double_precision ? sizeof(double) : sizeof(float);
}

class HaloTransport;

class HaloMessages {
 public:
  explicit HaloMessages(Backend backend);
  ~HaloMessages();

  /// Adds a part of `bytes` to the rank `to` and its counterpart from the rank `from`, told apart from other
  /// parts between these ranks by its tag. Returns its number: 0, 1, 2 and so on.
  int add(int to, int from, int tag, size_t bytes);
  /// Connects the ranks after the last add(). The arguments tell the tuner which halo travels: one of a
  /// lattice's, with so many columns and bytes of a number. Collective.
  /// A halo of a hop can have flags.
  void connect(Communicator& communicator, const Geometry& geometry, int columns, size_t scalar_bytes,
               bool is_of_hop = false);

  /// Return where a part lies, 64-byte aligned, as kernels see it; on the host it changes from exchange to
  /// exchange.
  /// @pre connected
  void* send_buffer(int part);           ///< it is valid in pack()
  void* receive_buffer(int part) const;  ///< it is valid from unpack() until the next start()
  /// Runs pack(), which fills the send buffers, and sends them. Callers launch the inner sites before
  /// finish(): GPUs compute them while the messages travel. Other exchanges may be under way. @pre connected
  void start(const std::function<void()>& pack);
  /// Returns true once the message of a part that comes has arrived; it moves messages on and does not wait.
  /// A halo on a GPU travels in finish(), and nothing has arrived before.
  bool has_arrived(int part) const;
  /// Waits for the messages, and runs unpack(part) for each part once it is there, in no fixed order.
  void finish(const std::function<void(int part)>& unpack);

  /// Returns true where a launch that packs, computes and waits by itself can have the halo; it then takes
  /// begin_with_flags() in place of start() and finish(). @pre connected
  bool has_flags() const;
  /// Begins such an exchange, whose faces and legs are the parts: the faces of the launch are parts 0, 1,
  /// ..., and leg_of_part[i] is the hop's leg that part i brings. Both buffers of parts are valid from here
  /// on.
  HaloFlags begin_with_flags(std::span<const int> leg_of_part);

  /// Waits for the messages, and runs unpack() once all are there.
  void finish_together(const std::function<void()>& unpack);

  size_t bytes_sent() const;  ///< counts those of one exchange
  size_t bytes_held() const;  ///< counts those that the messages hold here

 private:
  Backend backend_;
  std::vector<HaloPart> sends_, receives_;  ///< each entry is a part
  MergedParts sent_, received_;
  std::vector<std::vector<int>> parts_of_;    ///< the parts of each message that comes
  std::unique_ptr<HaloTransport> transport_;  ///< it exists once connected
};

}  // namespace trellis
