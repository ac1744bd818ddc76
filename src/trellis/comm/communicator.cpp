#include "trellis/comm/communicator.hpp"

#include "trellis/base/error.hpp"

namespace trellis {

void Communicator::agree_on_error(const std::string& error) {
  const double first = minimum(error.empty() ? double(size()) : double(rank()));
  if (first >= size()) return;
  const int root = int(first);
  size_t length = error.size();
  broadcast(&length, sizeof(length), root);
  std::string text = error;
  text.resize(length);
  broadcast(text.data(), length, root);
  throw FileError(size() > 1 ? message(text, " (seen on rank ", root, ")") : text);
}

}  // namespace trellis
