#pragma once
/// This is the launch of messages without a hop (device/flagged_exchange.hpp), for real and simulated GPUs.
#include "trellis/device/flagged_exchange.hpp"
#include "trellis/device/fused_hop.hpp"
#include "trellis/view/faces_in_range.hpp"
#include "trellis/view/vector_access.hpp"

namespace trellis::cuda {

/// A message is a face, whose sites have 16 bytes each, or what is left at its end.
struct ZeroFaces {
  static constexpr int most = HaloFlags::most_messages;
  static constexpr size_t site_bytes = 16;
  FlaggedMessage messages[most] = {};
  int used = 0;

  int count() const { return used; }
  int sites(int face) const { return int((messages[face].bytes + site_bytes - 1) / site_bytes); }
  TRELLIS_SITE_FN void pack(int face, int index, int) const {
    const FlaggedMessage& message = messages[face];
    char* const data = static_cast<char*>(message.data) + size_t(index) * site_bytes;
    const size_t left = message.bytes - size_t(index) * site_bytes;
    if (left >= site_bytes) {
      ElementVector<double, 2> zeros;
      zeros.set<0>(0.0);
      zeros.set<1>(0.0);
      zeros.store(reinterpret_cast<double*>(data));
    } else {
      for (size_t i = 0; i < left; ++i) data[i] = 0;
    }
  }
};

/// Its one site waits for all messages, and computes nothing.
struct HopOfNothing {
  static constexpr int most_columns = 1;
  template <int S>
  TRELLIS_SITE_FN void compute(int, int) const {}
  TRELLIS_SITE_FN unsigned ghost_legs(int) const { return ~0u; }
};

/// Returns what launch_fused takes.
inline auto zero_faces_with_flags(HaloFlags flags, std::span<const FlaggedMessage> messages) {
  ZeroFaces faces;
  for (const FlaggedMessage& message : messages) {
    flags.message_of_face[faces.used] = int8_t(faces.used);
    faces.messages[faces.used++] = message;
  }
  for (int message = 0; message < flags.receives; ++message) flags.legs_of_message[message] = 1u << message;
  using Pack = PackFaces<CudaLayout, ZeroFaces>;
  return FusedHop<Pack, HopOfNothing>{{}, Pack(faces), flags, nullptr, nullptr, 0, 1, 1};
}

}  // namespace trellis::cuda
