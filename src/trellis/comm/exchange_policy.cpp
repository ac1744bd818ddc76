#include "trellis/comm/exchange_policy.hpp"

#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
ExchangePolicy& current() {
  static ExchangePolicy policy = [] {
    const char* name = std::getenv("TRELLIS_EXCHANGE");
    return name == nullptr || *name == '\0' ? ExchangePolicy::automatic : exchange_policy_by_name(name);
  }();
  return policy;
}
}  // namespace

ExchangePolicy exchange_policy() { return current(); }
void set_exchange_policy(ExchangePolicy policy) { current() = policy; }

bool takes_device_memory() {
  if (exchange_policy() == ExchangePolicy::shared || exchange_policy() == ExchangePolicy::copied)
    return false;
  const char* value = std::getenv("TRELLIS_GPU_MESSAGES");
  const std::string word = value == nullptr ? "" : value;
  if (word.empty()) return library_takes_device_memory();
  if (word == "staged") return false;
  if (word == "direct") return true;
  throw BadArgument(message("TRELLIS_GPU_MESSAGES=", word, " is not among staged, direct"));
}

const char* name_of(ExchangePolicy policy) {
  switch (policy) {
    case ExchangePolicy::automatic:
      return "automatic";
    case ExchangePolicy::persistent:
      return "persistent";
    case ExchangePolicy::copied:
      return "copied";
    default:
      return "shared";
  }
}

ExchangePolicy exchange_policy_by_name(const std::string& name) {
  for (const ExchangePolicy policy : {ExchangePolicy::automatic, ExchangePolicy::persistent,
                                      ExchangePolicy::shared, ExchangePolicy::copied})
    if (name == name_of(policy)) return policy;
  throw BadArgument(
      message("exchange policy \"", name, "\" is not among automatic, persistent, shared, copied"));
}

}  // namespace trellis
