#pragma once
/// A range has the sites of a launch: blocks begin..end-1, or the entries begin..end-1 of a list of blocks.
#include <cstdint>
#include <vector>

namespace trellis {

struct SiteRange {
  int begin = 0, end = 0;
  const int32_t* list = nullptr;

  SiteRange() = default;
  explicit SiteRange(int blocks) : end{blocks} {}
  explicit SiteRange(const std::vector<int32_t>& blocks) : end{int(blocks.size())}, list{blocks.data()} {}
  int size() const { return end - begin; }
};

}  // namespace trellis
