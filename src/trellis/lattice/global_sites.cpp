#include "trellis/lattice/global_sites.hpp"

namespace trellis {

std::vector<int64_t> global_sites(const ExtendedLayout& layout) {
  const size_t W = size_t(layout.lanes());
  std::vector<int64_t> sites(size_t(layout.blocks()) * W, 0);
  for (const int32_t block : layout.inner())
    for (size_t lane = 0; lane < W; ++lane)
      sites[size_t(block) * W + lane] = layout.geometry().global_index(layout.coord(block, int(lane)));
  return sites;
}

std::vector<int64_t> global_sites(const SiteLayout& layout, int parity) {
  const size_t W = size_t(layout.lanes());
  std::vector<int64_t> sites(size_t(layout.blocks(parity)) * W);
  for (int block = 0; block < layout.blocks(parity); ++block)
    for (size_t lane = 0; lane < W; ++lane)
      sites[size_t(block) * W + lane] =
          layout.geometry().global_index(layout.coord({parity, block, int(lane)}));
  return sites;
}

}  // namespace trellis
