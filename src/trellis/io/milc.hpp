#pragma once
/// MILC files have these magic numbers, read in the right byte order.
#include <cstdint>

namespace trellis::io {

inline constexpr uint32_t milc_magic = 20103;            ///< version 5
inline constexpr uint32_t milc_version_4_magic = 59354;  ///< not supported
inline constexpr uint32_t milc_1996_magic = 53546;       ///< not supported

}  // namespace trellis::io
