#pragma once
/// All ways in which the messages of a halo travel have this interface, from kernels that write them to
/// kernels that read them. Each way is one file beside this one; choice.cpp says which of them is taken.
#include <functional>
#include <memory>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/view/halo_flags.hpp"

namespace trellis {

/// Each way is a file of this folder.
enum class TransportWay { requests, shared, copied, staged, device, peer, peer_copied, mapped, fused };
inline constexpr TransportWay transport_ways[] = {
    TransportWay::requests,    TransportWay::shared, TransportWay::copied,
    TransportWay::staged,      TransportWay::device, TransportWay::peer,
    TransportWay::peer_copied, TransportWay::mapped, TransportWay::fused};
const char* name_of(TransportWay way);

/// A transport has the messages of one halo, which travel many times. Construction registers memory, start()
/// posts messages, has_arrived() asks for one of them, and wait() completes all. Several transports may be
/// under way at once: whichever is waited for, the messages of all others move on. Nothing is allocated after
/// construction.
class HaloTransport {
 public:
  explicit HaloTransport(size_t receives);
  virtual ~HaloTransport() = default;
  virtual TransportWay way() const = 0;
  /// Returns where send `number` is to be written by pack(), as kernels of the fields' backend see it: the
  /// data of the message, or 64-byte aligned memory of the transport, perhaps another after each start(). It
  /// may wait until the receiver needs that memory no longer.
  virtual void* outgoing(int number) = 0;
  /// Returns where receive `number` lies, from unpack() until the next start(): the data of the message, or
  /// memory of the transport, perhaps another after each start().
  virtual void* incoming(int number) = 0;
  /// Runs pack(), which writes all sends, and sends them on their way.
  virtual void start(const std::function<void()>& pack) = 0;
  /// Returns true once receive `number` of the exchange that was started is there; it moves messages on, and
  /// does not wait. On a GPU messages travel in wait(), and none is there before.
  virtual bool has_arrived(int number) = 0;
  /// Waits for all receives, then runs unpack(), which reads them.
  virtual void wait(const std::function<void()>& unpack) = 0;
  /// Waits for all receives, and runs unpack(number), which reads one, for each of them: as soon as it is
  /// there, where the way can tell.
  virtual void wait_each(const std::function<void(int)>& unpack);
  /// Begins an exchange of a launch that writes the sends, tells others so by flags and waits for theirs, in
  /// place of start() and wait(), and returns the flags of the messages. From here on outgoing() and
  /// incoming() are those of this exchange. A transport is used in one of the two manners all its life.
  /// Only the way `fused` can do so.
  virtual HaloFlags begin_with_flags();

 protected:
  /// Asks for all receives in turn until each is there and unpacked.
  void unpack_as_they_arrive(const std::function<void(int)>& unpack);

 private:
  std::vector<int> all_, missing_;  ///< the receives; those that unpack_as_they_arrive() still asks for
};

using TransportPtr = std::unique_ptr<HaloTransport>;
using Messages = std::vector<Message>;

// Messages of all functions have data in memory that the way can reach, or none: the transport then has
// memory for them. Ranks match messages by tag. Each function is collective over the communicator.

/// Makes the transport of requests.cpp: it has persistent requests of the communicator, from and to memory of
/// the host.
TransportPtr make_requests_transport(Communicator& communicator, const Messages& sends,
                                     const Messages& receives);

/// Makes the transport of shared.cpp: kernels write and read messages between ranks of a node in memory that
/// both have mapped; messages between nodes are requests. Returns null on all ranks of a node whose ranks get
/// no such memory, and NodeMemory::failure() says why. @pre the communicator has a node()
TransportPtr make_shared_transport(Communicator& communicator, const Messages& sends,
                                   const Messages& receives);

/// Makes the transport of copied.cpp: it is as the shared one, but kernels write and read memory of their own
/// rank.
TransportPtr make_copied_transport(Communicator& communicator, const Messages& sends,
                                   const Messages& receives);

/// Makes the transport of staged.cpp: kernels run on a GPU, and messages are copied to and from page-locked
/// memory, between which another transport moves them, which `make` makes.
TransportPtr make_staged_transport(const Messages& sends, const Messages& receives,
                                   const std::function<TransportPtr(const Messages&, const Messages&)>& make);

/// Makes the transport of peer.cpp: kernels run on a GPU, and write messages between ranks of a node into
/// memory of the receiver's GPU (`peer`), or copies bring them there (`peer_copied`); messages between nodes
/// are staged. With `mapped` kernels write and read page-locked memory of the host: that of the receiver
/// within a node, and that of requests between nodes. With `fused` the slots of the receiver's GPU have flags
/// beside them for launches that need no host (view/halo_flags.hpp); without such launches it is as `peer`.
/// Returns null on ranks whose GPUs do not reach such memory, and NodeMemory::failure() says why. @pre the
/// communicator can share memory
TransportPtr make_peer_transport(Communicator& communicator, const Messages& sends, const Messages& receives,
                                 TransportWay way);

/// Makes the transport of device.cpp: kernels run on a GPU, and the MPI library takes messages from its
/// memory.
TransportPtr make_device_transport(Communicator& communicator, const Messages& sends,
                                   const Messages& receives);

}  // namespace trellis
