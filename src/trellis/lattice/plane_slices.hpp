#pragma once
/// The blocks of an extended layout lie in two-dimensional slices. Loops of links in one plane (mu, nu) find
/// all that they need of each other in one slice, which is small enough for a cache. Where ranks split a
/// direction of the plane the slice begins `before` sites ahead of the inner ones and ends `after` sites
/// behind them.
#include <cstdint>
#include <vector>

#include "trellis/lattice/extended_layout.hpp"

namespace trellis {

class PlaneSlices {
 public:
  static constexpr int before = 2, after = 1;
  /// @pre mu != nu; a halo of at least 2
  PlaneSlices(const ExtendedLayout& layout, int mu, int nu);

  int slices() const { return slices_; }
  int blocks_per_slice() const { return per_slice_; }
  /// Returns the block of each [slice][place].
  const int32_t* blocks() const { return blocks_.data(); }
  /// Returns the place of each [block] in its slice, and -1 for blocks in none.
  const int32_t* places() const { return places_.data(); }
  /// Lists the places of inner sites.
  const std::vector<int32_t>& inner() const { return inner_; }
  /// Returns the places of the lower corners of all plaquettes that have an inner link.
  const std::vector<int32_t>& plaquettes() const { return plaquettes_; }

 private:
  int slices_ = 0, per_slice_ = 0;
  std::vector<int32_t> blocks_, places_, inner_, plaquettes_;
};

}  // namespace trellis
