#pragma once
/// MILC files have these magic numbers, read in the right byte order.
#include <cstdint>

namespace trellis::io {

inline constexpr uint32_t milc_magic = 20103;            ///< this is version 5
inline constexpr uint32_t milc_version_1_magic = 59354;  ///< these are versions 1 to 4
inline constexpr uint32_t milc_1996_magic = 53546;       ///< it is not supported

}  // namespace trellis::io
