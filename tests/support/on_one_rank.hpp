#pragma once
/// Ranks compare what they find with what one process finds. Rank 0 alone computes that, and tells the
/// others: on few cores the same work on every rank would take longer than the test itself.
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/comm/sleeping_wait.hpp"

namespace trellis::test {

/// These give every rank the value of rank 0. A struct names its members by a function `members`, which
/// returns them as std::tie does.
template <class T>
void tell(T& value);

template <class T>
void tell(std::vector<T>& values) {
  size_t size = values.size();
  tell(size);
  values.resize(size);
  if constexpr (std::is_trivially_copyable_v<T>)
    world()->broadcast(values.data(), size * sizeof(T), 0);
  else
    for (T& value : values) tell(value);
}

template <class T>
void tell(T& value) {
  if constexpr (requires { value.members(); }) {
    std::apply([](auto&... members) { (tell(members), ...); }, value.members());
  } else {
    static_assert(std::is_trivially_copyable_v<T>);
    world()->broadcast(&value, sizeof(T), 0);
  }
}

/// Ranks that have less to do sleep here until rank 0 comes: those that only give their cores away get them
/// back too often.
inline void sleep_until_rank_0_comes() {
  std::vector<Message> sends, receives;
  if (world()->rank() == 0)
    for (int rank = 1; rank < world()->size(); ++rank) sends.push_back({rank, 1, nullptr, 8});
  else
    receives.push_back({0, 1, nullptr, 8});
  const auto exchange = world()->make_exchange(sends, receives);
  exchange->start();
  wait_asleep(*exchange, int(receives.size()));
}

/// Returns on every rank what make() returns on rank 0. make() speaks to no other rank.
template <class Make>
auto on_one_rank(const Make& make) {
  decltype(make()) result{};
  std::string error;
  if (world()->rank() == 0) {
    try {
      result = make();
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
  }
  sleep_until_rank_0_comes();
  const auto first = world()->first_error(error);
  if (!first.text.empty()) throw std::runtime_error(first.text);
  tell(result);
  return result;
}

}  // namespace trellis::test
