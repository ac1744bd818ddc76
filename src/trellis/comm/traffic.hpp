#pragma once
/// These plain counters at the communicator say what this process has sent and summed so far. Tests hold the
/// costs of operators against them.
#include <cstdint>
#include <vector>

#include "trellis/comm/communicator.hpp"

namespace trellis {

struct Traffic {
  int64_t messages = 0;                ///< exchanges add theirs when they start; those to itself count, too
  std::vector<int64_t> bytes_to = {};  ///< the key is the rank that gets them
  int64_t sums = 0;                    ///< calls of Communicator::sum count, also of one process
};

/// Returns the counts since the process began. Only the thread that communicates writes them.
inline Traffic& traffic() {
  static Traffic so_far;
  return so_far;
}

/// Makes room for the receivers of an exchange, so that its start allocates nothing.
inline void expect_messages(const std::vector<Message>& sends) {
  Traffic& t = traffic();
  for (const Message& m : sends)
    if (size_t(m.peer) >= t.bytes_to.size()) t.bytes_to.resize(size_t(m.peer) + 1, 0);
}

/// Counts the messages of an exchange that starts. @pre expect_messages() of them
inline void count_messages(const std::vector<Message>& sends) {
  Traffic& t = traffic();
  t.messages += int64_t(sends.size());
  for (const Message& m : sends) t.bytes_to[size_t(m.peer)] += int64_t(m.bytes);
}

}  // namespace trellis
