#pragma once
/// Memory comes in lines of so many bytes.
#include <cstddef>

namespace trellis {

inline constexpr size_t cache_line = 64;

}  // namespace trellis
