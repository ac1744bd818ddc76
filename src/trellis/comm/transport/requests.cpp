/// Halos travel by persistent requests of the communicator (MPI_Send_init; copies in a single process).
#include "trellis/comm/transport/transport.hpp"

namespace trellis {

namespace {
class RequestsTransport final : public HaloTransport {
 public:
  RequestsTransport(std::unique_ptr<Exchange> exchange, size_t receives)
      : HaloTransport{receives}, exchange_{std::move(exchange)}, has_several_{receives > 1} {}
  TransportWay way() const override { return TransportWay::requests; }
  void* outgoing(int number) override { return exchange_->outgoing(number); }
  void* incoming(int number) override { return exchange_->incoming(number); }
  void start(const std::function<void()>& pack) override {
    pack();
    exchange_->start();
  }
  bool has_arrived(int number) override { return exchange_->has_arrived(number); }
  void wait(const std::function<void()>& unpack) override {
    exchange_->wait();
    unpack();
  }
  void wait_each(const std::function<void(int)>& unpack) override {
    if (!has_several_) return HaloTransport::wait_each(unpack);
    unpack_as_they_arrive(unpack);
    exchange_->wait();  // this waits for what was sent
  }

 private:
  std::unique_ptr<Exchange> exchange_;
  bool has_several_;
};
}  // namespace

TransportPtr make_requests_transport(Communicator& communicator, const Messages& sends,
                                     const Messages& receives) {
  return std::make_unique<RequestsTransport>(communicator.make_exchange(sends, receives), receives.size());
}

}  // namespace trellis
