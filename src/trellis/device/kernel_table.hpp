#pragma once
/// Read-only tables lie where the kernels of a backend can read them: they are the host's own array, or a
/// copy on the GPU.
#include <vector>

#include "trellis/device/memory.hpp"
#include "trellis/device/site_range.hpp"

namespace trellis {

template <class T>
class KernelTable {
 public:
  KernelTable() = default;
  /// @pre on the host the array outlives the table; for a GPU it is copied
  KernelTable(const T* host, size_t count, Backend backend) : data_{host}, count_{count} {
    if (backend != Backend::cuda) return;
    copy_ = Memory(count * sizeof(T), backend);
    copy_.copy_from_host(host, count * sizeof(T));
    data_ = static_cast<const T*>(copy_.data());
  }
  KernelTable(const std::vector<T>& host, Backend backend) : KernelTable(host.data(), host.size(), backend) {}

  const T* data() const { return data_; }
  size_t size() const { return count_; }

 private:
  const T* data_ = nullptr;
  size_t count_ = 0;
  Memory copy_;
};

/// Returns the blocks that a table lists.
inline SiteRange site_range(const KernelTable<int32_t>& blocks) {
  SiteRange range(int(blocks.size()));
  range.list = blocks.data();
  return range;
}

}  // namespace trellis
