#pragma once
/// Messages of a halo that come without memory get it here on a GPU.
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/device/memory.hpp"

namespace trellis {

class GpuMessageMemory {
 public:
  /// Returns the same messages, all with data, which live as long as this.
  std::vector<Message> complete(std::vector<Message> messages) {
    for (Message& m : messages)
      if (m.data == nullptr)
        m.data = parts_.emplace_back(Memory::to_be_written(m.bytes, Backend::cuda)).data();
    return messages;
  }

 private:
  std::vector<Memory> parts_;
};

}  // namespace trellis
