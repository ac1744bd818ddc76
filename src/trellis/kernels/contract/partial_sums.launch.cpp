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
  const int most = std::max(1, most_slots_of_a_launch / call.passes());
  for (int first = 0; first < call.slices; first += most)
    launch::for_each_site(SiteRange(call.pieces * call.components),
                          std::min(most, call.slices - first) * call.passes(), AddToPartials(call, first));
}

// There are two steps: a thread that merges all of a row's would take longer than those that added them.
template <class Layout>
void launch_merge_partials(const PartialSumsCall& call, PartialSum* totals) {
  constexpr int parts = pieces_a_merge;
  const int rows = call.rows(), pieces = call.pieces, count = pieces / parts;
  const SiteRange all(call.slices * rows);
  launch::for_each_site(all, parts, MergePartials{call.partials, rows, pieces, count, 1, nullptr});
  launch::for_each_site(all, 1, MergePartials{call.partials, rows, pieces, parts, count, totals});
}

template <class Layout>
void launch_site_phases(const SitePhases& phases, const SiteRange& sites) {
  launch::for_each_site(sites, phases);
}

template void launch_partial_sums<InstantiatedLayout>(const PartialSumsCall&);
template void launch_merge_partials<InstantiatedLayout>(const PartialSumsCall&, PartialSum*);
template void launch_site_phases<InstantiatedLayout>(const SitePhases&, const SiteRange&);

}  // namespace trellis
