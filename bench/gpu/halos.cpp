/// This section times halos between ranks that have a GPU each, or share one: messages alone by each way, and
/// hops with them. It runs under mpirun.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "bench/measurement.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"
#include "trellis/operator/hopping_term.hpp"

namespace trellis::gpu_check {

namespace {
constexpr const char* ways[] = {"staged", "peer", "peer_copied"};

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
}  // namespace

void measure_halos(Section& section, const std::vector<int>& extents) {
  if (world()->size() == 1)
    throw BadArgument("halos need two ranks or more: mpirun -n 2 gpu_bench halos 20 16");
  std::map<int, std::vector<double>> expected;
  for (const char* way : ways) {
    setenv("TRELLIS_GPU_MESSAGES", way, 1);
    for (const size_t bytes : {size_t(1) << 14, size_t(1) << 18, size_t(1) << 22})
      section.run(message("messages, ", way, ", ", bytes, " bytes"), [&] { messages(section, way, bytes); });
    for (const int L : extents)
      section.run(message("hops, ", way, ", ", L), [&] {
        const std::vector<double> found = hops(section, way, L);
        std::vector<double>& first = expected[L];
        if (first.empty()) first = found;
        if (world()->any(std::memcmp(first.data(), found.data(), found.size() * sizeof(double)) != 0))
          throw Error(message("hops by ", way, " have other bits than those by ", ways[0]));
      });
  }
  unsetenv("TRELLIS_GPU_MESSAGES");
}

}  // namespace trellis::gpu_check
