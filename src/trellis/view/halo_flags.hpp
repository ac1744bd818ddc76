#pragma once
/// A launch that packs faces, computes and waits for other ranks by itself (the way `fused`) tells the
/// receivers by flags that its faces are there, in memory that both ranks reach. Flags count exchanges, so
/// that nobody sets them back.
///
/// Blocks that pack come first, and never wait; those that wait take their turns behind them. So the faces of
/// all ranks arrive whatever else runs. A rank writes to a slot of a message once more two exchanges later:
/// by then the receiver has sent it its flag of the exchange between, in a launch that began when it had read
/// the slot. Two slots therefore suffice without a word from the receiver. @pre ranks that send to each other
/// in one direction do so in the other, too
#include <cstdint>

#include "trellis/base/annotations.hpp"

namespace trellis {

struct HaloFlags {
  static constexpr int most_messages = 8, most_faces = 16;

  uint64_t turn = 0;                    ///< it is the number of the exchange
  uint64_t* there[most_messages] = {};  ///< the flag of each message that is sent, where its receiver looks
  const uint64_t* here[most_messages] = {};  ///< the flag of each message that comes
  int receives = 0;                          ///< so many messages come
  /// They are zero between launches: blocks that have begun, and for each message those that have packed it.
  unsigned* counters = nullptr;
  int8_t message_of_face[most_faces] = {};       ///< faces are those of the launch
  unsigned legs_of_message[most_messages] = {};  ///< a bit for each leg of the hop whose ghosts it brings
};

}  // namespace trellis
