// ranks: 1 2 4
/// A simulated GPU has schedules (device/simulated/queues.hpp): streams give the right numbers under all of
/// them, and whoever leaves out a wait gets wrong ones under some of the first twenty. What a process writes
/// into memory of others arrives late and out of order.
///
/// TRELLIS_SIMULATED_SEEDS=200 runs hops by all ways, cuts, columns and storages under so many schedules
/// (tools/long_checks gpu).
#include "trellis/device/simulated/queues.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <random>
#include <thread>

#include "tests/support/gpu_comparison.hpp"
#include "tests/support/product_fields.hpp"
#include "trellis/base/environment.hpp"
#include "trellis/comm/transport/mapped_host.hpp"
#include "trellis/device/simulated/for_each_site.hpp"
#include "trellis/device/simulated/peer_waits.hpp"
#include "trellis/operator/hopping_term.hpp"
#include "trellis/operator/staggered_hopping.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {
namespace in_test_simulated_gpu {

using cuda::PeerWait;
using cuda::simulated::StreamWait;
using test::Numbers;

constexpr uint64_t seeds = 20;
constexpr const char* ways[] = {"staged", "mapped", "peer", "peer_copied"};
constexpr const char* fused = "fused";
constexpr std::pair<StreamWait, const char*> waits[] = {{StreamWait::follow_main, "follow_main"},
                                                        {StreamWait::precede_main, "precede_main"},
                                                        {StreamWait::wait, "wait"}};

/// Returns the numbers under a schedule. Host memory of the work is alive until this returns.
template <class Wait, class F>
Numbers scheduled(uint64_t seed, Wait left_out, const F& f) {
  cuda::simulated::set_schedule(seed);
  cuda::simulated::leave_out(left_out);
  const Numbers found = f();
  cuda::simulated::leave_out(Wait::none);
  cuda::simulated::set_schedule(std::nullopt);
  return found;
}

/// Returns how many of the schedules give other bits on any rank; NaN differs.
template <class F>
int wrong_schedules(const Numbers& expected, const F& f, uint64_t schedules = seeds) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < schedules; ++seed)
    wrong += world()->any(scheduled(seed, StreamWait::none, f) != expected) ? 1 : 0;
  return wrong;
}

/// Tells whether one of the schedules gives other bits on any rank.
template <class Wait, class F>
bool is_found(Wait left_out, const Numbers& expected, const F& f) {
  for (uint64_t seed = 0; seed < seeds; ++seed)
    if (world()->any(scheduled(seed, left_out, f) != expected)) return true;
  return false;
}

template <class F>
void expect_that_schedules_find(const Numbers& expected, const F& f) {
  EXPECT_EQ(wrong_schedules(expected, f), 0);
  for (const auto& [wait, name] : waits) EXPECT_TRUE(is_found(wait, expected, f)) << name;
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

/// Returns hops that stand one behind the other, and whose halos travel while inner sites are computed.
auto wilson_hops(Backend backend) {
  const Coord extents{4, 4, 8, 8};
  const LatticePtr lattice = make_lattice(extents);
  const GaugeField U = test::to_product(lattice, test::random_gauge(extents, 71, 0.7));
  const reference::SpinorVector psi = test::random_spinors(extents, 72);
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
}

TEST(SimulatedGpu, halos_of_hops) {
  const auto hops = [](Backend backend) { return wilson_hops(backend); };
  const Numbers expected = hops(Backend::cpu)();
  for (const char* word : ways) {
    const test::WithExchange with(word);
    const auto on_gpu = hops(Backend::cuda);
    EXPECT_EQ(wrong_schedules(expected, on_gpu), 0) << word;
    if (world()->size() == 1) continue;  // nothing travels
    for (const auto& [wait, name] : waits) {
      // Ghosts are the messages: only copies from the host come behind the wait for them.
      if (wait == StreamWait::precede_main && word != std::string("staged")) continue;
      EXPECT_TRUE(is_found(wait, expected, on_gpu)) << word << ", " << name;
    }
  }
}

/// Returns improved staggered hops, one behind the other, whose faces over one and three sites travel
/// together.
auto improved_hops(Backend backend) {
  const int ranks = world()->size();
  const Coord extents{4, 4, 8, 8};
  const LatticePtr lattice = make_lattice(extents, Coord{1, 1, ranks == 4 ? 2 : 1, ranks == 1 ? 1 : 2});
  const auto links = [&](uint64_t seed) {
    return test::to_product(lattice, test::random_gauge(extents, seed, 0.7)).on(backend);
  };
  StaggeredPhases phases;
  phases.boundary = {1.0, 1.0, 1.0, -1.0};
  const auto hop = std::make_shared<StaggeredHopping>(
      std::make_shared<StaggeredLinks>(links(75), links(76), -1.0 / 24, true,
                                       KernelChoice{.backend = backend}),
      phases, Precision::double_precision);
  constexpr int rhs = 2;
  const SpinorField zero = hop->make_field(Subset::odd, rhs);
  SpinorField even = hop->make_field(Subset::even, rhs);
  const size_t each = size_t(even.geometry().local_volume()) * size_t(even.reals());
  Numbers values(each);
  for (int column = 0; column < rhs; ++column) {
    for (size_t i = 0; i < each; ++i)
      values[i] = test::hash_uniform(size_t(world()->rank() * rhs + column) * each + i) - 0.5;
    even.from_canonical(values.data(), column);
  }
  return [=] {
    SpinorField a = even, b = zero;
    for (int turn = 0; turn < 3; ++turn) {  // an odd number: a slot never has the same numbers twice in a row
      hop->apply(b, 1, a, 1.0);
      hop->apply(a, 0, b, 1.0);
    }
    return test::numbers_of(a);
  };
}

/// A launch that packs, computes and waits for other ranks by itself needs both fences, the flags, and two
/// slots for each message. Where the hops of both parities have halos of their own, each waits for the flags
/// of the other in between, and one slot would do.
template <class Hops>
void expect_that_flags_are_needed(const Hops& hops, bool shares_halo) {
  const Numbers expected = hops(Backend::cpu)();
  const test::WithExchange with(fused);
  const auto on_gpu = hops(Backend::cuda);
  EXPECT_EQ(on_gpu(), expected) << "without a schedule";
  EXPECT_EQ(wrong_schedules(expected, on_gpu), 0);
  if (world()->size() == 1) return;  // nothing travels
  constexpr std::pair<PeerWait, const char*> all[] = {{PeerWait::for_flag, "wait for flags"},
                                                      {PeerWait::fence_of_block, "fence of a block"},
                                                      {PeerWait::fence_of_message, "fence of a message"},
                                                      {PeerWait::second_slot, "second slot"}};
  for (const auto& [wait, name] : all)
    if (shares_halo || wait != PeerWait::second_slot) {
      EXPECT_TRUE(is_found(wait, expected, on_gpu)) << name;
    }
}

TEST(SimulatedGpu, wilson_hops_in_one_launch) {
  expect_that_flags_are_needed([](Backend backend) { return wilson_hops(backend); }, true);
}
TEST(SimulatedGpu, improved_hops_in_one_launch) {
  expect_that_flags_are_needed([](Backend backend) { return improved_hops(backend); }, false);
}

/// Memory that nothing was written to holds NaN: new fields before they are zero, and memory of peers.
TEST(SimulatedGpu, memory_that_was_not_written_is_not_a_number) {
  const auto are_all_nan = [](const void* data) {
    Numbers found(100);
    cuda::copy_to_host(found.data(), data, found.size() * sizeof(double));
    return std::all_of(found.begin(), found.end(), [](double x) { return std::isnan(x); });
  };
  for (int turn = 0; turn < 2; ++turn) {  // the second time the memory was that of another field
    const Memory field = Memory::to_be_written(100 * sizeof(double), Backend::cuda);
    EXPECT_TRUE(are_all_nan(field.data())) << turn;
  }
  cuda::PeerHandle handle;
  const size_t in_use = gpu_memory_in_use();
  EXPECT_TRUE(are_all_nan(cuda::allocate_for_peers(100 * sizeof(double), handle)));
  EXPECT_EQ(gpu_memory_in_use(), in_use + 4096) << "whole pages";
}

/// Writes to memory of the host are there in part before the host waits, and all after it: the parts come in
/// an order of their own.
TEST(SimulatedGpu, writes_to_other_memory_arrive_late_and_out_of_order) {
  constexpr size_t count = 4096, bytes = count * sizeof(double);
  const PagesForKernels pages(bytes);
  const auto* host = static_cast<const double*>(pages.data());
  Memory ones(bytes, Backend::cuda);
  ones.copy_from_host(Numbers(count, 1.0).data(), bytes);
  int in_part = 0, late = 0, out_of_order = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::fill_n(static_cast<double*>(pages.data()), count, 0.0);
    cuda::simulated::set_schedule(seed);
    cuda::Stream stream;
    {
      const cuda::Stream::Scope scope(stream);
      for (size_t part = 0; part < 4; ++part)
        cuda::copy_on_device(static_cast<char*>(pages.mapped()) + part * bytes / 4, ones.data(), bytes / 4);
    }
    cuda::simulated::wait_for(cuda::simulated::main_queue);  // it is another queue
    const auto there = std::count(host, host + count, 1.0);
    late += there < std::ptrdiff_t(count) ? 1 : 0;
    in_part += there > 0 && there < std::ptrdiff_t(count) ? 1 : 0;
    out_of_order += !std::is_sorted(host, host + count, std::greater<>()) ? 1 : 0;
    stream.wait();
    EXPECT_EQ(std::count(host, host + count, 1.0), std::ptrdiff_t(count)) << seed;
    cuda::simulated::set_schedule(std::nullopt);
  }
  EXPECT_EQ(late, int(seeds));
  EXPECT_GT(in_part, 0);
  EXPECT_EQ(out_of_order, in_part);
}

/// Each rank sends to the next one alone, and the first is sent nothing: senders run ahead as far as they
/// may. The main queue writes what is packed and reads what was unpacked.
class Chain {
 public:
  static constexpr size_t turns = 8, count = 2000, bytes = count * sizeof(double);

  explicit Chain(const std::string& way) : with_{way} {
    const int rank = world()->rank(), ranks = world()->size();
    std::vector<Message> sends, receives;
    if (rank + 1 < ranks) sends.push_back({rank + 1, 1, nullptr, bytes});
    if (rank > 0) receives.push_back({rank - 1, 1, nullptr, bytes});
    receives_ = !receives.empty();
    sends_ = !sends.empty();
    transport_ = make_transport(*world(), sends, receives, {Backend::cuda});
    for (size_t turn = 0; turn < turns; ++turn) {
      sources_.emplace_back(bytes, Backend::cuda).copy_from_host(numbers(rank, turn).data(), bytes);
      sinks_.emplace_back(bytes, Backend::cuda);
    }
  }
  static Numbers numbers(int rank, size_t turn) { return Numbers(count, 100.0 * rank + double(turn) + 1); }
  Numbers expected() const {
    Numbers all;
    for (size_t turn = 0; turn < turns && receives_; ++turn)
      test::append(all, numbers(world()->rank() - 1, turn));
    return all;
  }
  /// @param slow this side of each message comes late
  Numbers run(PeerWait slow) {
    const bool is_slow = slow == PeerWait::for_room ? receives_ : slow == PeerWait::for_data && !receives_;
    Memory staging(bytes, Backend::cuda), landing(bytes, Backend::cuda);
    world()->barrier();
    for (size_t turn = 0; turn < turns; ++turn) {
      if (is_slow) std::this_thread::sleep_for(std::chrono::microseconds(300));
      staging.copy_from(sources_[turn]);
      transport_->start([&] {
        if (sends_) cuda::copy_on_device(transport_->outgoing(0), staging.data(), bytes);
      });
      transport_->wait([&] {
        if (receives_) cuda::copy_on_device(landing.data(), transport_->incoming(0), bytes);
      });
      sinks_[turn].copy_from(landing);
    }
    Numbers all;
    for (size_t turn = 0; turn < turns && receives_; ++turn) {
      Numbers found(count);
      sinks_[turn].copy_to_host(found.data(), bytes);
      test::append(all, found);
    }
    world()->barrier();
    return all;
  }

 private:
  const test::WithExchange with_;
  bool sends_ = false, receives_ = false;
  TransportPtr transport_;
  std::vector<Memory> sources_, sinks_;
};

TEST(SimulatedGpu, messages_in_a_chain_of_ranks) {
  if (world()->size() == 1) return;
  for (const char* word : ways) {
    Chain chain(word);
    const Numbers expected = chain.expected();
    EXPECT_EQ(wrong_schedules(expected, [&] { return chain.run(PeerWait::none); }), 0) << word;
    for (const auto& [wait, name] : waits)
      EXPECT_TRUE(is_found(wait, expected, [&] { return chain.run(PeerWait::none); }))
          << word << ", " << name;
    if (word == std::string("staged")) continue;  // its messages are those of hosts
    for (const PeerWait wait : {PeerWait::for_data, PeerWait::for_room})
      EXPECT_TRUE(is_found(wait, expected, [&] { return chain.run(wait); })) << word << ", " << int(wait);
  }
}

/// Pairs of hops have the CPU's bits by all ways, cuts, numbers of columns and storages. CI takes sixteen
/// combinations, in which each two values of two of them meet, and four with `fused`, in which it meets all;
/// with TRELLIS_SIMULATED_SEEDS it is all 320.
TEST(SimulatedGpu, ways_cuts_columns_and_storages) {
  const int ranks = world()->size();
  if (ranks == 1) return;
  const int half = ranks == 4 ? 2 : 1;
  const Coord cuts[] = {{1, 1, half, 2}, {1, half, 2, 1}, {2, 1, 1, half}, {half, 2, 1, 1}};
  constexpr int columns[] = {1, 2, 3, 6};
  struct Storage {
    Precision precision;
    int link_reals;
  };
  constexpr Storage storages[] = {{Precision::double_precision, 18},
                                  {Precision::single_precision, 8},
                                  {Precision::half_precision, 12},
                                  {Precision::fp16_precision, 12}};
  constexpr Coord extents{4, 4, 4, 8};
  const reference::Gauge links = test::random_gauge(extents, 73, 0.7);
  const reference::SpinorVector psi = test::random_spinors(extents, 74);
  const auto hops = [&](const Coord& cut, int rhs, const Storage& storage, Backend backend) {
    const auto term =
        std::make_shared<HoppingTerm>(test::to_product(make_lattice(extents, cut), links), WilsonParams{},
                                      KernelChoice{storage.precision, storage.link_reals, backend, 0});
    SpinorField even = term->make_field(Subset::even, rhs);
    for (int column = 0; column < rhs; ++column) test::to_product(even, psi, column);
    return [=] {
      SpinorField a = even, b = term->make_field(Subset::odd, rhs);
      term->apply(b, 1, a, HopTask{});
      term->apply(a, 0, b, HopTask{});
      term->apply(b, 1, a, HopTask{});
      return test::numbers_of(b);
    };
  };
  const auto all_seeds = environment_number("TRELLIS_SIMULATED_SEEDS", 1, 100000);
  constexpr size_t twice[] = {0, 2, 3, 1};  // in the field with four elements
  for (size_t cut = 0; cut < 4; ++cut)
    for (size_t column = 0; column < 4; ++column)
      for (size_t storage = 0; storage < 4; ++storage) {
        Numbers expected;
        for (size_t number = 0; number < 5; ++number) {
          const size_t way = number % 4;
          const char* const word = number < 4 ? ways[way] : fused;
          const bool is_in_table = cut == (way ^ storage) && column == (way ^ twice[storage]);
          if (!all_seeds && !is_in_table) continue;
          if (expected.empty())
            expected = hops(cuts[cut], columns[column], storages[storage], Backend::cpu)();
          const test::WithExchange with(word);
          const auto on_gpu = hops(cuts[cut], columns[column], storages[storage], Backend::cuda);
          EXPECT_EQ(wrong_schedules(expected, on_gpu, uint64_t(all_seeds.value_or(seeds))), 0)
              << word << ", cut " << to_string(cuts[cut]) << ", columns " << columns[column] << ", "
              << name_of(storages[storage].precision);
        }
      }
}

struct WithPadding {
  int number;  // padding follows
  const void* pointer;
};
struct LaunchOfParts {
  int count;
  WithPadding parts[8];
  bool is_last;
  const void* last;
  int tail;
};

TEST(SimulatedGpu, launches_with_host_pointers_are_refused_whatever_padding_holds) {
  const int on_host = 0;
  const void* const pointer = &on_host;
  alignas(LaunchOfParts) unsigned char memory[sizeof(LaunchOfParts)];
  for (size_t at = 0; at < sizeof(memory); at += 8) std::memcpy(memory + at, &pointer, 8);
  LaunchOfParts& launch = *new (memory) LaunchOfParts;  // its bytes stay as they are
  launch.count = launch.tail = 8;
  launch.is_last = true;
  launch.last = nullptr;
  for (WithPadding& part : launch.parts) {
    part.number = 1;
    part.pointer = nullptr;
  }
  const auto check = [&] { cuda::check_launch(SiteRange(1), launch); };
  EXPECT_NO_THROW(check());
  for (WithPadding& part : launch.parts) {
    part.pointer = pointer;
    EXPECT_THROW(check(), Error);
    part.pointer = nullptr;
  }
  launch.last = pointer;
  EXPECT_THROW(check(), Error);
}

}  // namespace in_test_simulated_gpu
}  // namespace trellis
