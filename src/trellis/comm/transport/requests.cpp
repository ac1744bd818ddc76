/// Halos by persistent requests of the communicator (MPI_Send_init; copies in a single process).
#include "trellis/comm/transport/transport.hpp"

namespace trellis {

namespace {
class RequestsTransport final : public HaloTransport {
 public:
  explicit RequestsTransport(std::unique_ptr<Exchange> exchange) : exchange_{std::move(exchange)} {}
  TransportWay way() const override { return TransportWay::requests; }
  void* outgoing(int number) override { return exchange_->outgoing(number); }
  void* incoming(int number) override { return exchange_->incoming(number); }
  void start(const std::function<void()>& pack) override {
    pack();
    exchange_->start();
  }
  void wait(const std::function<void()>& unpack) override {
    exchange_->wait();
    unpack();
  }

 private:
  std::unique_ptr<Exchange> exchange_;
};
}  // namespace

TransportPtr make_requests_transport(Communicator& communicator, const Messages& sends,
                                     const Messages& receives) {
  return std::make_unique<RequestsTransport>(communicator.make_exchange(sends, receives));
}

}  // namespace trellis
