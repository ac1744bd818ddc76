#pragma once
/// Messages of an exchange that come without memory get it here.
#include <memory>
#include <new>
#include <vector>

#include "trellis/comm/communicator.hpp"

namespace trellis {

class MessageMemory {
 public:
  /// Returns the same messages, all with data, which live as long as this.
  std::vector<Message> complete(std::vector<Message> messages) {
    for (Message& m : messages) {
      if (m.data != nullptr) continue;
      parts_.emplace_back(static_cast<std::byte*>(::operator new(m.bytes, alignment)));
      m.data = parts_.back().get();
    }
    return messages;
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Release {
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };
  std::vector<std::unique_ptr<std::byte, Release>> parts_;
};

}  // namespace trellis
