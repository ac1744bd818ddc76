#include "bench/halo_ladder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/played_rank.hpp"
#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/field/halo_observer.hpp"
#include "trellis/field/wilson_halo.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis::bench {

namespace {
bool is_simulated(Backend backend) {
  return backend == Backend::cuda && cuda::gpus().at(0).capability == "0.0";
}
void wait_for_device(Backend backend) {
  if (backend == Backend::cuda) cuda::synchronize();
}

/// Returns the median of the seconds of a call, of the slowest rank. All ranks make as many calls. A GPU has
/// calls in a row to do, as many as a round takes; on a host each few microseconds are timed apart, so that
/// most of these timings know nothing of other programs.
double seconds_of(Backend backend, const HaloTiming& timing, const std::function<void()>& call) {
  const auto round = [&](int calls) {
    const double start = now();
    for (int i = 0; i < calls; ++i) call();
    wait_for_device(backend);
    return (now() - start) / calls;
  };
  const auto round_together = [&](int calls) {
    wait_for_device(backend);
    world()->barrier();
    return world()->maximum(round(calls));
  };
  if (is_simulated(backend)) return round_together(1);
  int warm = 1;
  for (double spent = 0; spent < timing.seconds / 2; warm *= 2) spent = warm * round_together(warm);
  const double each = round_together(std::max(1, warm / 2));
  constexpr double shortest = 2e-6;
  const bool is_on_gpu = backend == Backend::cuda;
  const int calls = std::max(1, int((is_on_gpu ? timing.seconds : shortest) / each));
  const int rounds = is_on_gpu
                         ? timing.rounds
                         : std::max(timing.rounds, int(timing.rounds * timing.seconds / (calls * each)));
  std::vector<double> seconds;
  world()->barrier();
  for (int i = 0; i < rounds; ++i) seconds.push_back(is_on_gpu ? round_together(calls) : round(calls));
  return world()->maximum(median(seconds));
}

/// It notes when the steps of a halo are made, and lets the GPU come there first.
class StepClock {
 public:
  explicit StepClock(Backend backend) : backend_{backend} {
    observe_halos([this](HaloStep step) { tell(step); });
  }
  ~StepClock() { observe_halos({}); }
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;
  /// Returns the seconds between two steps of the last call.
  double between(HaloStep first, HaloStep second) const { return at_[int(second)] - at_[int(first)]; }
  /// Returns the seconds since the last step.
  double since_the_end() const {
    wait_for_device(backend_);
    return now() - at_[int(HaloStep::is_unpacked)];
  }

 private:
  void tell(HaloStep step) {
    wait_for_device(backend_);
    at_[int(step)] = now();
  }
  Backend backend_;
  double at_[5] = {};
};

/// Returns the medians of what `call` measures, each the largest over ranks.
std::vector<double> medians(int calls, const std::function<std::vector<double>()>& call) {
  std::vector<std::vector<double>> all;
  for (int i = 0; i < calls; ++i) {
    world()->barrier();
    all.push_back(call());
  }
  std::vector<double> found;
  for (size_t k = 0; k < all[0].size(); ++k) {
    std::vector<double> values;
    for (const auto& one : all) values.push_back(one[k]);
    found.push_back(world()->maximum(median(values)));
  }
  return found;
}

/// It is a hop with its fields.
struct Hop {
  Hop(const LatticePtr& lattice, const HaloCase& halo)
      : term{GaugeField(lattice).on(halo.backend), periodic(),
             KernelChoice{halo.precision, halo.link_reals, halo.backend, 0}},
        even{term.make_field(Subset::even, halo.rhs)},
        odd{term.make_field(Subset::odd, halo.rhs)} {
    if (halo.backend == Backend::cuda) {
      SpinorField numbers = even.host_copy();
      fill(numbers);
      even.copy_from_host(numbers);
    } else {
      fill(even);
    }
  }
  static WilsonParams periodic() {
    WilsonParams params;
    params.boundary = {1.0, 1.0, 1.0, 1.0};
    return params;
  }
  void apply() { term.apply(odd, 1, even, HopTask{}); }
  HoppingTerm term;
  SpinorField even, odd;
};

void time_steps(HaloTimes& times, Hop& hop, const HaloCase& halo, int calls) {
  const std::shared_ptr<const HopLinks> links(std::shared_ptr<void>(), &hop.term.links());
  WilsonHalo alone(links, halo.rhs);
  const StepClock clock(halo.backend);
  using enum HaloStep;
  const auto exchange = [&] {
    alone.start(hop.even, 0, false);
    alone.finish();
    return std::vector<double>{clock.between(begins, is_sent), clock.between(is_wanted, has_come),
                               clock.between(has_come, is_unpacked)};
  };
  const auto traced = [&] {
    hop.apply();
    const double border = clock.since_the_end();
    return std::vector<double>{clock.between(is_sent, is_wanted), border};
  };
  exchange();
  const std::vector<double> of_halo = medians(calls, exchange), of_sites = medians(calls, traced);
  times.packing = of_halo[0];
  times.halo = of_halo[1];
  times.unpacking = of_halo[2];
  times.interior = of_sites[0];
  times.border = of_sites[1];
}

HaloTimes time_way(const LatticePtr& lattice, const HaloCase& halo, const HaloTiming& timing, double uncut) {
  HaloTimes times;
  Hop hop(lattice, halo);
  times.uncut = uncut;
  times.hop = seconds_of(halo.backend, timing, [&] { hop.apply(); });
  if (choose_transport(halo.backend) == TransportWay::fused)
    times.interior = times.hop;  // one launch has no steps
  else
    time_steps(times, hop, halo,
               is_simulated(halo.backend) ? 1 : std::clamp(int(timing.seconds / times.hop), 3, 200));
  const Cost cost = WilsonHalo::cost(hop.term.links(), halo.rhs);
  times.messages = int(cost.messages.size());
  for (const auto& m : cost.messages) times.bytes += m.bytes;
  times.is_beside_packing = halo.backend == Backend::cuda;
  return times;
}

/// Throws NotAvailable where ranks share no memory, and the policy takes such: halos would go another way.
void require_memory_for(ExchangePolicy policy) {
  using enum ExchangePolicy;
  for (const ExchangePolicy own : {shared, copied, mapped, peer, peer_copied, fused})
    if (policy == own && !world()->can_share_memory())
      throw NotAvailable("ranks share no memory (a build without MPI)");
}

/// Sets the policy of halos as long as it lives.
class WithPolicy {
 public:
  explicit WithPolicy(ExchangePolicy policy) { set_exchange_policy(policy); }
  ~WithPolicy() { set_exchange_policy(before_); }
  WithPolicy(const WithPolicy&) = delete;
  WithPolicy& operator=(const WithPolicy&) = delete;

 private:
  const ExchangePolicy before_ = exchange_policy();
};
}  // namespace

double HaloTimes::waiting() const {
  const double there = packing + halo + (is_beside_packing ? unpacking : 0);
  return std::max(0.0, there - interior - (is_beside_packing ? 0 : packing));
}

std::vector<ExchangePolicy> ladder_of(Backend backend) {
  if (exchange_policy() != ExchangePolicy::automatic) return {exchange_policy()};
  using enum ExchangePolicy;
  if (backend != Backend::cuda) return {persistent, copied, shared};
  std::vector<ExchangePolicy> ways{staged, peer_copied, mapped, peer, fused};
  if (library_takes_device_memory()) ways.insert(ways.begin() + 1, direct);
  return ways;
}

std::vector<HaloTimes> climb(const HaloCase& halo, const HaloTiming& timing) {
  Coord extents;
  for (int mu = 0; mu < Nd; ++mu) extents[mu] = halo.local[mu] * halo.partition[mu];
  CommunicatorPtr ranks = world();
  if (halo.is_self) ranks = std::make_shared<PlayedRank>(int(product(halo.partition)));
  const LatticePtr lattice = make_lattice(extents, halo.partition, ranks);
  const LatticePtr alone =
      make_lattice(halo.local, Coord{1, 1, 1, 1}, std::make_shared<SingleCommunicator>());
  Hop whole(alone, halo);
  const double uncut = seconds_of(halo.backend, timing, [&] { whole.apply(); });
  std::vector<HaloTimes> all;
  for (const ExchangePolicy policy : ladder_of(halo.backend)) {
    const WithPolicy with(policy);
    HaloTimes times;
    try {
      require_memory_for(policy);
      times = time_way(lattice, halo, timing, uncut);
    } catch (const Error& error) {
      times.missing = error.what();
    }
    times.way = name_of(policy);
    all.push_back(times);
  }
  return all;
}

namespace {
double seconds_of_message(Backend backend, int to, int from, size_t bytes, const HaloTiming& timing) {
  const TransportPtr transport =
      make_transport(*world(), {{to, 1, nullptr, bytes}}, {{from, 1, nullptr, bytes}}, {backend});
  const bool is_on_gpu = backend == Backend::cuda;
  return seconds_of(backend, timing, [&] {
    transport->start([&] {  // kernels would write as much
      void* const data = transport->outgoing(0);
      is_on_gpu ? cuda::set_zero(data, bytes) : void(std::memset(data, 0, bytes));
    });
    transport->wait([&] {
      const auto* data = static_cast<const volatile char*>(transport->incoming(0));
      for (size_t at = 0; at < bytes && !is_on_gpu; at += 64) data[at];
    });
  });
}
}  // namespace

std::vector<LinkTime> time_links(Backend backend, bool is_self, const std::vector<size_t>& bytes,
                                 const HaloTiming& timing) {
  const int rank = world()->rank(), ranks = world()->size();
  const int next = is_self ? rank : (rank + 1) % ranks, last = is_self ? rank : (rank + ranks - 1) % ranks;
  std::vector<LinkTime> all;
  for (const ExchangePolicy policy : ladder_of(backend)) {
    const WithPolicy with(policy);
    try {
      require_memory_for(policy);
      for (const size_t size : bytes)
        all.push_back({name_of(policy), size, seconds_of_message(backend, next, last, size, timing)});
    } catch (const Error&) {
      continue;  // climb() tells of ways that there are not
    }
  }
  return all;
}

namespace {
/// It is a line of marks; times become places on it.
class Line {
 public:
  explicit Line(double seconds_of_mark) : unit_{seconds_of_mark} {}
  void draw(double from, double to, char mark) {
    const auto first = size_t(std::lround(from / unit_)), last = size_t(std::lround(to / unit_));
    if (text_.size() < last) text_.resize(last, ' ');
    std::fill(text_.begin() + std::ptrdiff_t(first), text_.begin() + std::ptrdiff_t(last), mark);
  }
  const std::string& text() const { return text_; }

 private:
  double unit_;
  std::string text_;
};
}  // namespace

std::string picture(const std::vector<HaloTimes>& ways) {
  constexpr double marks = 70;
  const auto there = [](const HaloTimes& t) { return t.packing + t.halo; };
  const auto inner_end = [](const HaloTimes& t) {
    return t.interior + (t.is_beside_packing ? 0 : t.packing);
  };
  double longest = 0;
  for (const HaloTimes& t : ways)
    longest = std::max(longest, std::max(there(t), inner_end(t)) + t.unpacking + t.border);
  if (!(longest > 0)) return "";
  char head[160];
  std::snprintf(head, sizeof head,
                "P packing, I inner sites, H halo, U unpacking, . waiting, B border; a mark is %.3g us\n",
                1e6 * longest / marks);
  std::string text = head;
  for (const HaloTimes& t : ways) {
    if (!t.missing.empty()) continue;
    Line faces(longest / marks), sites(longest / marks);
    const double start = t.is_beside_packing ? 0 : t.packing, come = there(t), done = inner_end(t);
    (t.is_beside_packing ? faces : sites).draw(0, t.packing, 'P');
    faces.draw(t.packing, come, 'H');
    sites.draw(start, done, 'I');
    double border = std::max(come, done);
    if (t.is_beside_packing) {
      faces.draw(come, come + t.unpacking, 'U');
      border = std::max(come + t.unpacking, done);
      sites.draw(done, border, '.');
    } else {
      sites.draw(done, border, '.');
      sites.draw(border, border + t.unpacking, 'U');
      border += t.unpacking;
    }
    sites.draw(border, border + t.border, 'B');
    std::string name = t.way;
    name.resize(12, ' ');
    text += name + "faces " + faces.text() + "\n            sites " + sites.text() + "\n";
  }
  return text;
}

}  // namespace trellis::bench
