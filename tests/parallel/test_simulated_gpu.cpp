// ranks: 1 2 4
/// A simulated GPU has schedules (device/simulated/queues.hpp): streams give the right numbers under all of
/// them, and whoever leaves out a wait gets wrong ones under some of the first twenty.
#include "trellis/device/simulated/queues.hpp"

#include <array>
#include <random>

#include "tests/support/gpu_comparison.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace {

using cuda::simulated::StreamWait;
using test::Numbers;

constexpr uint64_t seeds = 20;
constexpr std::pair<StreamWait, const char*> waits[] = {{StreamWait::follow_main, "follow_main"},
                                                        {StreamWait::precede_main, "precede_main"},
                                                        {StreamWait::wait, "wait"}};

/// Returns the numbers under a schedule. Host memory of the work is alive until this returns.
template <class F>
Numbers scheduled(uint64_t seed, StreamWait left_out, const F& f) {
  cuda::simulated::set_schedule(seed);
  cuda::simulated::leave_out(left_out);
  const Numbers found = f();
  cuda::simulated::leave_out(StreamWait::none);
  cuda::simulated::set_schedule(std::nullopt);
  return found;
}

/// Returns how many of the schedules give other bits on any rank; NaN differs.
template <class F>
int wrong_schedules(StreamWait left_out, const Numbers& expected, const F& f) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    wrong += world()->any(scheduled(seed, left_out, f) != expected) ? 1 : 0;
  return wrong;
}

template <class F>
void expect_that_schedules_find(const Numbers& expected, const F& f) {
  EXPECT_EQ(wrong_schedules(StreamWait::none, expected, f), 0);
  for (const auto& [wait, name] : waits) EXPECT_GT(wrong_schedules(wait, expected, f), 0) << name;
}

/// Three queues wait for each other in many ways. Every piece runs once, in the order of its queue and behind
/// all that its queue waits for, and the host finds done what it has waited for.
TEST(SimulatedGpu, queues_that_wait_for_each_other) {
  namespace simulated = cuda::simulated;
  constexpr int queues = 3, turns = 300;
  for (uint64_t seed = 0; seed < 3 * seeds; ++seed) {
    simulated::set_schedule(seed);
    std::mt19937_64 random(seed);
    const auto draw = [&random](int below) { return size_t(random() % uint64_t(below)); };
    const int number[queues] = {simulated::main_queue, simulated::make_queue(), simulated::make_queue()};
    std::array<int, queues> submitted{}, done{};
    std::array<std::array<int, queues>, queues>
        before{};  // so many pieces of others that the next piece needs
    int wrong = 0;
    for (int turn = 0; turn < turns; ++turn) {
      const size_t queue = draw(queues), other = draw(queues);
      if (const size_t kind = draw(8); kind == 0) {
        simulated::wait_for(number[queue]);
        EXPECT_EQ(done[queue], submitted[queue]) << seed;
      } else if (kind < 4 && queue != other) {
        simulated::order_behind(number[queue], number[other]);
        before[queue][other] = submitted[other];
      } else {
        const auto work = [&done, &wrong, queue, place = submitted[queue]++, needed = before[queue]] {
          wrong += done[queue] != place ? 1 : 0;
          for (size_t i = 0; i < queues; ++i) wrong += i != queue && done[i] < needed[i] ? 1 : 0;
          ++done[queue];
        };
        simulated::submit(number[queue], work);
      }
    }
    simulated::set_schedule(std::nullopt);
    EXPECT_EQ(done, submitted) << seed;
    EXPECT_EQ(wrong, 0) << seed;
    for (const int made : {number[1], number[2]}) simulated::remove_queue(made);
  }
}

TEST(SimulatedGpu, streams_beside_the_main_one) {
  constexpr size_t count = 1000, bytes = count * sizeof(double);
  const Numbers values(count, 1.5), expected(count, 2.5);
  std::vector<std::unique_ptr<cuda::PinnedMemory>> pinned;  // late work may write to it
  expect_that_schedules_find(expected, [&] {
    Memory source(bytes, Backend::cuda), in(bytes, Backend::cuda), out(bytes, Backend::cuda);
    pinned.push_back(std::make_unique<cuda::PinnedMemory>(bytes));
    double* host = static_cast<double*>(pinned.back()->data());
    cuda::Stream stream;
    source.copy_from_host(values.data(), bytes);
    in.copy_from(source);  // the host does not wait for it
    stream.follow_main();
    stream.copy_to_host(host, in.data(), bytes);
    stream.wait();
    for (size_t i = 0; i < count; ++i) host[i] += 1;
    stream.copy_from_host(out.data(), host, bytes);
    stream.precede_main();
    Numbers found(count);
    out.copy_to_host(found.data(), bytes);
    return found;
  });
}

/// Hops stand one behind the other, and their halos travel while inner sites are computed.
TEST(SimulatedGpu, halos_of_hops) {
  const Coord extents{4, 4, 8, 8};
  const LatticePtr lattice = make_lattice(extents);
  const GaugeField U = test::to_product(lattice, test::random_gauge(extents, 71, 0.7));
  const reference::SpinorVector psi = test::random_spinors(extents, 72);
  const auto hops = [&](Backend backend) {
    const WilsonOperator M(
        std::make_shared<WilsonMatrix>(U, WilsonParams{.mass = 0.1}, KernelChoice{.backend = backend}));
    SpinorField even = M.make_field(), odd = M.make_field();
    test::to_product(even, psi);
    return [=] {
      SpinorField a = even, b = odd;
      for (int turn = 0; turn < 2; ++turn) {
        M.apply(b, a);
        M.apply(a, b);
      }
      return test::numbers_of(a);
    };
  };
  const Numbers expected = hops(Backend::cpu)();
  for (const char* word : {"staged", "peer", "peer_copied"}) {
    const test::WithGpuMessages with(word);
    const auto on_gpu = hops(Backend::cuda);
    EXPECT_EQ(wrong_schedules(StreamWait::none, expected, on_gpu), 0) << word;
    if (world()->size() == 1) return;  // nothing travels
    for (const auto& [wait, name] : waits)
      EXPECT_GT(wrong_schedules(wait, expected, on_gpu), 0) << word << ", " << name;
  }
}

}  // namespace
}  // namespace trellis
