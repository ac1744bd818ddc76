#include "reference/multigrid/blocks.hpp"

#include "reference/gauge.hpp"
#include "trellis/base/error.hpp"

namespace trellis::reference {

Blocks::Blocks(const Coord& lattice, const Coord& block)
    : lattice_{lattice}, block_{block}, block_of_(size_t(product(lattice))) {
  for (int mu = 0; mu < Nd; ++mu) {
    TRELLIS_REQUIRE(block[mu] > 0 && lattice[mu] % block[mu] == 0, "blocks of ", to_string(block),
                    " sites do not divide the lattice ", to_string(lattice),
                    ": choose extents that divide those of the lattice");
    grid_[mu] = lattice[mu] / block[mu];
  }
  sites_.resize(size_t(count()));
  for (int64_t site = 0; site < product(lattice_); ++site) {
    Coord at = site_coord(site, lattice_);
    for (int mu = 0; mu < Nd; ++mu) at[mu] /= block_[mu];
    block_of_[size_t(site)] = site_index(at, grid_);
    sites_[size_t(block_of(site))].push_back(site);
  }
}

bool Blocks::leaves(int64_t site, int step) const {
  return block_of(neighbour(site, step, lattice_)) != block_of(site);
}

}  // namespace trellis::reference
