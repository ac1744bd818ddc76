#include "trellis/glass/observables.hpp"

#include "trellis/base/stop.hpp"
#include "trellis/field/precision_dispatch.hpp"

namespace trellis {

namespace {
/// Says whether sums go over bonds; they go over the even sites then, each of which has six of them: these
/// are all bonds.
bool is_over_bonds(SpinSums kind) { return kind == SpinSums::energy || kind == SpinSums::bonds; }
bool sees_neighbours(SpinSums kind) { return is_over_bonds(kind) || kind == SpinSums::chirality; }
}  // namespace

std::vector<double> spin_sums(const SpinGlass& glass, SpinSums kind, const SlotPairs& pairs) {
  std::vector<int32_t> slots;
  for (const auto& [a, b] : pairs) {
    TRELLIS_REQUIRE(a >= 0 && a < glass.slots() && b >= 0 && b < glass.slots(), "slots ", a, " and ", b,
                    " of ", glass.slots());
    slots.insert(slots.end(), {a, b});
  }
  const SpinTables& tables = glass.tables();
  const SpinGlassSpec& spec = glass.spec();
  const KernelTable<int32_t> table(slots, spec.backend);
  const size_t rows = size_t(spin_sum_rows(kind)), of_sample = pairs.size() * rows;
  std::vector<ExactSum> sums(size_t(glass.samples()) * of_sample);
  std::vector<ExactSum> of_lanes(size_t(tables.sample_lanes()) * of_sample);
  for (int parity = 0; parity < (is_over_bonds(kind) ? 1 : 2); ++parity) {
    if (sees_neighbours(kind)) glass.update_ghosts(1 - parity);
    SpinSumsCall call;
    call.around = glass.call(parity);
    call.slots = table.data();
    call.items = int(pairs.size());
    tables.set_tables(call, parity);
    for (int sample = 0; sample < tables.samples_of_lane(); ++sample) {
      std::fill(of_lanes.begin(), of_lanes.end(), ExactSum{});
      dispatch_unquantised(spec.backend, spec.precision, glass.lanes(), [&]<class Layout, class Storage>() {
        launch_spin_sums<Layout, Storage>(kind, call, tables.has_ghosts(), tables.of_sample(parity, sample),
                                          of_lanes.data());
      });
      for (size_t lane = 0; lane < size_t(tables.sample_lanes()); ++lane) {
        const size_t at = size_t(tables.first_sample() + sample) + lane * size_t(tables.samples_of_lane());
        for (size_t k = 0; k < of_sample; ++k) sums[at * of_sample + k].merge(of_lanes[lane * of_sample + k]);
      }
    }
  }
  glass.lattice().communicator().sum(sums.data(), int(sums.size()));
  stop_point();
  std::vector<double> values(sums.size());
  for (size_t k = 0; k < sums.size(); ++k) values[k] = sums[k].value();
  return values;
}

std::vector<double> energies(const SpinGlass& glass) {
  SlotPairs pairs;
  for (int slot = 0; slot < glass.slots(); ++slot) pairs.emplace_back(slot, slot);
  return spin_sums(glass, SpinSums::energy, pairs);
}

}  // namespace trellis
