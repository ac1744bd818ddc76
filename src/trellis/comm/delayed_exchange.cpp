#include "trellis/comm/delayed_exchange.hpp"

#include <thread>

#include "trellis/base/clock.hpp"
#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr int most_microseconds = 1000000;

double& current_delay() {
  static double seconds =
      1e-6 * environment_number("TRELLIS_MESSAGE_DELAY", 0, most_microseconds).value_or(0);
  return seconds;
}

class DelayedExchange final : public Exchange {
 public:
  explicit DelayedExchange(std::unique_ptr<Exchange> exchange)
      : exchange_{std::move(exchange)}, delay_{message_delay()} {}
  void start() override {
    exchange_->start();
    due_ = seconds_now() + delay_;
  }
  bool has_arrived(int number) override { return exchange_->has_arrived(number) && is_due(); }
  void wait() override {
    exchange_->wait();
    while (!is_due()) {
      move_messages();
      std::this_thread::yield();  // ranks may share a core
    }
  }
  void* outgoing(int number) override { return exchange_->outgoing(number); }
  void* incoming(int number) override { return exchange_->incoming(number); }

 private:
  bool is_due() const { return seconds_now() >= due_; }
  std::unique_ptr<Exchange> exchange_;
  double delay_, due_ = 0;
};
}  // namespace

double message_delay() { return current_delay(); }

void set_message_delay(double seconds) {
  TRELLIS_REQUIRE(seconds >= 0, "messages are delayed by 0 or more seconds, not ", seconds);
  current_delay() = seconds;
}

std::unique_ptr<Exchange> make_delayed_exchange(std::unique_ptr<Exchange> exchange) {
  return std::make_unique<DelayedExchange>(std::move(exchange));
}

}  // namespace trellis
