#pragma once
/// There are four coordinates and the lexicographic order of a box; this is pure integer code.
#include <array>
#include <cstdint>
#include <string>

namespace trellis {

inline constexpr int Nd = 4;

/// A coordinate has four integers in the order x, y, z, t.
using Coord = std::array<int, Nd>;

int64_t product(const Coord& extents);
std::string to_string(const Coord& c);  ///< it has the form "8x8x8x16"

/// Returns the lexicographic index in a box, x fastest: x + Lx (y + Ly (z + Lz t)).
inline int64_t site_index(const Coord& x, const Coord& extents) {
  return x[0] + int64_t(extents[0]) * (x[1] + int64_t(extents[1]) * (x[2] + int64_t(extents[2]) * x[3]));
}
/// Inverts site_index.
Coord site_coord(int64_t index, const Coord& extents);

/// Returns the parity (x + y + z + t) mod 2: even = 0, odd = 1.
inline int site_parity(const Coord& x) { return (x[0] + x[1] + x[2] + x[3]) & 1; }

}  // namespace trellis
