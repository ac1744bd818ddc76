// instantiate: BACKEND=cuda
#include "trellis/kernels/contract/partial_sums.hpp"

#include <algorithm>

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
constexpr int most_slots_of_a_launch = 65535;  // GPUs number no more rows of threads
}

template <class Layout>
void launch_partial_sums(const PartialSumsCall& call) {
  const int passes = (call.momenta + PartialSumsCall::momenta_a_pass - 1) / PartialSumsCall::momenta_a_pass;
  const int most = std::max(1, most_slots_of_a_launch / call.components);
  for (int first = 0; first < passes; first += most)
    launch::for_each_site(SiteRange(call.slices * PartialSumsCall::threads),
                          call.components * std::min(most, passes - first), AddToPartials(call, first));
}

// There are two steps: a thread that merges all of a row's would take longer than those that added them.
template <class Layout>
void launch_merge_partials(const PartialSumsCall& call, PartialSum* totals) {
  constexpr int pieces = 8, count = PartialSumsCall::threads / pieces;
  const SiteRange rows(call.slices * call.rows());
  launch::for_each_site(rows, pieces, MergePartials{call.partials, pieces, count, 1, nullptr});
  launch::for_each_site(rows, 1, MergePartials{call.partials, 1, pieces, count, totals});
}

template <class Layout>
void launch_site_phases(const SitePhases& phases, int momenta, const SiteRange& sites) {
  launch::for_each_site(sites, momenta, phases);
}

template void launch_partial_sums<InstantiatedLayout>(const PartialSumsCall&);
template void launch_merge_partials<InstantiatedLayout>(const PartialSumsCall&, PartialSum*);
template void launch_site_phases<InstantiatedLayout>(const SitePhases&, int, const SiteRange&);

}  // namespace trellis
