#include "trellis/glass/tempering.hpp"

#include <algorithm>

#include "trellis/algebra/random.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/glass/spin_exchange.hpp"

namespace trellis {

void exchange_spins(SpinGlass& glass, const SlotPairs& pairs, const std::vector<uint8_t>& is_exchanged) {
  const SpinTables& tables = glass.tables();
  const size_t W = size_t(glass.lanes()), samples = size_t(tables.samples_of_lane());
  TRELLIS_REQUIRE(is_exchanged.size() == pairs.size() * size_t(glass.samples()), is_exchanged.size(),
                  " decisions for ", pairs.size(), " pairs of ", glass.samples(), " samples");
  std::vector<int32_t> slots;
  std::vector<double> flags;  // they are [pair][sample of a lane][lane], of pairs that are exchanged
                              // somewhere
  for (size_t pair = 0; pair < pairs.size(); ++pair) {
    std::vector<double> of_pair(samples * W);
    for (size_t sample = 0; sample < samples; ++sample)
      for (size_t lane = 0; lane < W; ++lane) {
        const size_t at =
            size_t(tables.first_sample() + tables.layout().lane_coord(int(lane))[3] * int(samples)) + sample;
        of_pair[sample * W + lane] = is_exchanged[at * pairs.size() + pair] != 0 ? 1.0 : 0.0;
      }
    if (std::all_of(of_pair.begin(), of_pair.end(), [](double x) { return x == 0; })) continue;
    flags.insert(flags.end(), of_pair.begin(), of_pair.end());
    slots.insert(slots.end(), {pairs[pair].first, pairs[pair].second});
  }
  if (slots.empty()) return;
  Memory aligned(flags.size() * sizeof(double), glass.spec().backend);
  aligned.copy_from_host(flags.data(), aligned.bytes());
  const KernelTable<int32_t> table(slots, glass.spec().backend);
  for (int parity = 0; parity < 2; ++parity) {
    SpinExchangeCall call;
    call.spins = glass.spins(parity).raw(parity);
    call.coords = tables.coords(parity);
    call.samples = int(samples);
    call.pairs = table.data();
    call.count = int(slots.size() / 2);
    call.is_exchanged = static_cast<const double*>(aligned.data());
    dispatch_unquantised(glass.spec().backend, glass.spec().precision, glass.lanes(),
                         [&]<class Layout, class Storage>() {
                           launch_spin_exchange<Layout, Storage>(call, tables.all(parity));
                         });
  }
}

ExchangeStep exchange_temperatures(SpinGlass& glass, const std::vector<double>& betas, uint64_t seed,
                                   uint64_t stream, uint32_t step) {
  const int temperatures = int(betas.size()), slots = glass.slots();
  TRELLIS_REQUIRE(temperatures >= 1 && slots % temperatures == 0, slots, " sets of spins are no multiple of ",
                  temperatures, " temperatures");
  ExchangeStep result;
  for (int first = 0; first < slots; first += temperatures)
    for (int t = int(step % 2); t + 1 < temperatures; t += 2)
      result.pairs.emplace_back(first + t, first + t + 1);
  result.energies = energies(glass);
  const RandomKey key = random_key(seed, stream);
  for (int sample = 0; sample < glass.samples(); ++sample) {
    const SiteRandom<double> random(key, RandomPurpose::spin_tempering, step, uint64_t(sample));
    double* E = &result.energies[size_t(sample) * size_t(slots)];
    for (const auto& [a, b] : result.pairs) {
      const double difference =
          (betas[size_t(a % temperatures)] - betas[size_t(b % temperatures)]) * (E[a] - E[b]);
      const bool is_exchanged = logarithm(random.uniform_pair(uint32_t(a))[0]) < difference;
      result.is_exchanged.push_back(is_exchanged ? 1 : 0);
      if (is_exchanged) std::swap(E[a], E[b]);
    }
  }
  exchange_spins(glass, result.pairs, result.is_exchanged);
  return result;
}

}  // namespace trellis
