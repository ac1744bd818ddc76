#pragma once
/// Messages with flags (view/halo_flags.hpp) can travel without a hop: trials time them so.
#include <cstddef>
#include <span>

#include "trellis/view/halo_flags.hpp"

namespace trellis::cuda {

struct FlaggedMessage {
  void* data;
  size_t bytes;
};

/// Writes zeros to all messages, raises their flags and waits for all that come, in one launch.
/// @pre flags say nothing of faces and legs; there are at most HaloFlags::most_messages
void exchange_with_flags(HaloFlags flags, std::span<const FlaggedMessage> messages);

}  // namespace trellis::cuda
