#include "trellis/comm/exchange_policy.hpp"

#include <cstdlib>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
ExchangePolicy& current() {
  static ExchangePolicy policy = [] {
    const char* name = std::getenv("TRELLIS_EXCHANGE");
    return name == nullptr || *name == '\0' ? ExchangePolicy::persistent : exchange_policy_by_name(name);
  }();
  return policy;
}
}  // namespace

ExchangePolicy exchange_policy() { return current(); }
void set_exchange_policy(ExchangePolicy policy) { current() = policy; }

const char* name_of(ExchangePolicy policy) {
  return policy == ExchangePolicy::shared ? "shared" : "persistent";
}

ExchangePolicy exchange_policy_by_name(const std::string& name) {
  if (name == "persistent") return ExchangePolicy::persistent;
  if (name == "shared") return ExchangePolicy::shared;
  throw BadArgument(message("exchange policy \"", name, "\" is not among persistent, shared"));
}

}  // namespace trellis
