#pragma once
/// This list has memory that is asked for little by little.
#include <cstddef>

namespace trellis {

/// Asks for what comes after a long piece of work, a few cache lines with every part of it: memory has all
/// its time to bring them into the second-level cache.
class LinesAhead {
 public:
  /// Adds a piece of memory. Pieces that find no room in the list are not asked for: the large ones come
  /// first.
  void add(const void* begin, size_t bytes) {
    if (begin == nullptr || count_ == most) return;
    ranges_[count_].begin = static_cast<const char*>(begin);
    ranges_[count_++].lines = int((bytes + 63) / 64);
    lines_ += int((bytes + 63) / 64);
  }
  /// Spreads the lines evenly over so many calls of ask().
  void spread(int calls) { quota_ = (lines_ + calls - 1) / calls; }
  void ask() {
    for (int n = quota_; n > 0 && range_ < count_; --n) {
      __builtin_prefetch(ranges_[range_].begin + size_t(line_) * 64, 0, 2);
      if (++line_ == ranges_[range_].lines) {
        line_ = 0;
        ++range_;
      }
    }
  }

 private:
  static constexpr int most = 256;
  struct Range {
    const char* begin;
    int lines;
  } ranges_[most];
  int count_ = 0, lines_ = 0, quota_ = 0, range_ = 0, line_ = 0;
};

}  // namespace trellis
