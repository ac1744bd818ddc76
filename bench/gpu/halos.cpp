/// This section times halos between ranks that have a GPU each, or share one: messages alone by each way, and
/// hops with them, under mpirun. One process sends its faces to itself: the ladder of ways, step by step.
#include <algorithm>
#include <cstring>
#include <map>

#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "bench/halo_ladder.hpp"
#include "bench/measurement.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis::gpu_check {

namespace {
constexpr ExchangePolicy ways[] = {ExchangePolicy::staged, ExchangePolicy::mapped,
                                   ExchangePolicy::peer_copied, ExchangePolicy::peer, ExchangePolicy::fused};

/// Returns the median of the seconds of a call, of the slowest rank. All ranks make as many calls.
double seconds_of(const std::function<void()>& call) {
  const int rounds = is_simulated() ? 1 : 7, calls = is_simulated() ? 2 : 40;
  std::vector<double> seconds;
  call();
  for (int round = 0; round < rounds; ++round) {
    cuda::synchronize();
    world()->barrier();
    const double start = bench::now();
    for (int i = 0; i < calls; ++i) call();
    cuda::synchronize();
    seconds.push_back(world()->maximum((bench::now() - start) / calls));
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[size_t(rounds / 2)];
}

Row row_of_way(const std::string& what, const std::string& way) {
  return Row().text("halo", what).text("way", way).count("ranks", world()->size());
}

/// Times a message to either neighbour in a ring of all ranks.
void messages(Section& section, const std::string& way, size_t bytes) {
  Communicator& all = *world();
  const int next = (all.rank() + 1) % all.size(), last = (all.rank() + all.size() - 1) % all.size();
  const TransportPtr transport =
      make_transport(all, {{next, 1, nullptr, bytes}, {last, 2, nullptr, bytes}},
                     {{last, 1, nullptr, bytes}, {next, 2, nullptr, bytes}}, {Backend::cuda});
  const double seconds = seconds_of([&] {
    transport->start([&] {
      for (int i = 0; i < 2; ++i) cuda::set_zero(transport->outgoing(i), bytes);  // kernels write as much
    });
    transport->wait([] {});
  });
  if (all.rank() == 0)
    section.print(row_of_way("messages to two neighbours", way)
                      .count("bytes", int64_t(bytes))
                      .number("us", 1e6 * seconds)
                      .number("GB/s", 2e-9 * double(bytes) / seconds));
}

/// Times a pair of Wilson hops on L^4 sites a rank, cut in one direction. Returns the numbers.
std::vector<double> hops(Section& section, const std::string& way, int L) {
  const Coord extents{L, L, L, L * world()->size()};
  const LatticePtr lattice = make_lattice(extents, Coord{1, 1, 1, world()->size()});
  const GaugeField U = GaugeField(lattice).on(Backend::cuda);
  const HoppingTerm hop(U, WilsonParams{}, KernelChoice{Precision::single_precision, 12, Backend::cuda, 0});
  SpinorField in = hop.make_field(Subset::even, 1), middle = hop.make_field(Subset::odd, 1),
              out = hop.make_field(Subset::even, 1);
  fill(in);
  const double seconds = seconds_of([&] { hop.apply_twice(out, middle, 0, in, HopTask{}, HopTask{}); });
  if (world()->rank() == 0)
    section.print(
        row_of_way("pair of Wilson hops, float", way)
            .text("sites of a rank", message(L, "^4"))
            .number("us", 1e6 * seconds)
            .number("TF/s", 1e-12 * hop.flops_per_site() * double(lattice->geometry().volume()) / seconds));
  return numbers(out);
}

/// Prints the ladder of one lattice and storage, and the picture of its steps.
void ladder(Section& section, int L, Precision precision, int link_reals) {
  bench::HaloCase halo;
  halo.backend = Backend::cuda;
  halo.local = {L, L, L, L};
  halo.partition = {1, 2, 2, 2};
  halo.is_self = true;
  halo.precision = precision;
  halo.link_reals = link_reals;
  const std::vector<bench::HaloTimes> all = bench::climb(halo, {});
  for (const bench::HaloTimes& t : all) {
    if (!t.missing.empty()) throw Error(message(t.way, ": ", t.missing));
    section.print(
        Row()
            .text("Wilson hop, faces to itself", message(name_of(precision), ", ", L, "^4, 1.2.2.2"))
            .text("way", t.way)
            .number("hop us", 1e6 * t.hop)
            .number("uncut us", 1e6 * t.uncut)
            .number("packing us", 1e6 * t.packing)
            .number("interior us", 1e6 * t.interior)
            .number("halo us", 1e6 * t.halo)
            .number("unpacking us", 1e6 * t.unpacking)
            .number("border us", 1e6 * t.border)
            .number("waiting us", 1e6 * t.waiting())
            .count("bytes", int64_t(t.bytes)));
  }
  std::printf("%s, %d^4\n%s", name_of(precision), L, bench::picture(all).c_str());
}

void measure_ladder(Section& section, const std::vector<int>& extents) {
  for (const int L : extents)
    for (const Precision precision : {Precision::single_precision, Precision::fp16_precision,
                                      Precision::double_precision, Precision::half_precision})
      section.run(message("halo to itself, ", name_of(precision), ", ", L),
                  [&] { ladder(section, L, precision, 12); });
}
}  // namespace

void measure_halos(Section& section, const std::vector<int>& extents) {
  if (world()->size() == 1) return measure_ladder(section, extents);
  std::map<int, std::vector<double>> expected;
  const ExchangePolicy before = exchange_policy();
  for (const ExchangePolicy policy : ways) {
    set_exchange_policy(policy);
    const char* const way = name_of(policy);
    for (const size_t bytes : {size_t(1) << 14, size_t(1) << 18, size_t(1) << 22})
      section.run(message("messages, ", way, ", ", bytes, " bytes"), [&] { messages(section, way, bytes); });
    for (const int L : extents)
      section.run(message("hops, ", way, ", ", L), [&] {
        const std::vector<double> found = hops(section, way, L);
        std::vector<double>& first = expected[L];
        if (first.empty()) first = found;
        if (world()->any(std::memcmp(first.data(), found.data(), found.size() * sizeof(double)) != 0))
          throw Error(message("hops by ", way, " have other bits than those by ", name_of(ways[0])));
      });
  }
  set_exchange_policy(before);
}

}  // namespace trellis::gpu_check
