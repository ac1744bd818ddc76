#include "trellis/lattice/coord.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

int64_t product(const Coord& extents) {
  return int64_t(extents[0]) * extents[1] * int64_t(extents[2]) * extents[3];
}

std::string to_string(const Coord& c) { return message(c[0], "x", c[1], "x", c[2], "x", c[3]); }

Coord site_coord(int64_t index, const Coord& extents) {
  Coord x;
  for (int mu = 0; mu < Nd; ++mu) {
    x[mu] = int(index % extents[mu]);
    index /= extents[mu];
  }
  return x;
}

}  // namespace trellis
