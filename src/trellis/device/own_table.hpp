#pragma once
/// This class keeps a read-only table that was computed for kernels, where they read it: on the host, or on
/// the GPU alone.
#include <utility>
#include <vector>

#include "trellis/device/kernel_table.hpp"

namespace trellis {

template <class T>
class OwnTable {
 public:
  OwnTable() = default;
  OwnTable(const OwnTable&) = delete;
  OwnTable& operator=(const OwnTable&) = delete;

  bool is_set() const { return table_.data() != nullptr; }
  void set(std::vector<T> values, Backend backend) {
    host_ = std::move(values);
    table_ = {host_, backend};
    if (backend == Backend::cuda) host_ = {};
  }
  const T* data() const { return table_.data(); }
  size_t size() const { return table_.size(); }

 private:
  std::vector<T> host_;
  KernelTable<T> table_;
};

}  // namespace trellis
