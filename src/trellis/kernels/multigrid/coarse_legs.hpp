#pragma once
/// Bits say which legs of a coarse site a hop takes: bit 2 mu for X + mu, bit 2 mu + 1 for X - mu.

namespace trellis {

inline constexpr unsigned all_legs = 0xff;
inline constexpr unsigned forward_leg(int mu) { return 1u << (2 * mu); }

}  // namespace trellis
