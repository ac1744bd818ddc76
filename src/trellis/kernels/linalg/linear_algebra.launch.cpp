// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/at_site.hpp"
#include "trellis/kernels/linalg/of_columns.hpp"

namespace trellis {

namespace {
/// Runs all slots in one pass: CPUs read the coefficients where they are, to GPUs they travel by value.
template <class Layout, class AtSite>
void combine(const CombineCall& call, const SiteRange& sites) {
  if constexpr (launch::is_on_gpu<Layout>) {
    const auto make = [&](int slot) { return AtSite(call, slot); };
    if (call.norms != nullptr)
      for_each_launch_of_columns<WithNorm<AtSite>>(
          call.slots, [&](int slot) { return WithNorm<AtSite>{make(slot)}; },
          [&](const auto& kernel, int first, int count) {
            launch::reduce_sites<1>(sites, count, kernel, call.norms + first);
          });
    else
      for_each_launch_of_columns<AtSite>(call.slots, make, [&](const auto& kernel, int, int count) {
        if constexpr (AtSite::has_pairs) {
          const int pairs = (call.reals + 1) / 2;
          launch::for_each_site(sites, count * pairs, PairsOfColumns{kernel, pairs});
        } else {
          launch::for_each_site(sites, count, kernel);
        }
      });
  } else if (call.norms != nullptr) {
    for (int slot = 0; slot < call.slots; ++slot)
      launch::reduce_sites<1>(sites, WithNorm<AtSite>{AtSite(call, slot)}, call.norms + slot);
  } else {
    launch::for_each_site(sites, call.slots, typename AtSite::AllSlots(call));
  }
}

template <class NormTerm>
void norm_on_gpu(const DotCall& call, const SiteRange& sites) {
  for_each_launch_of_columns<NormTerm>(
      call.slots, [&](int slot) { return NormTerm(call, slot); },
      [&](const auto& kernel, int first, int count) {
        launch::reduce_sites<1>(sites, count, kernel, call.re + first);
      });
}
template <class DotTerms>
void dot_on_gpu(const DotCall& call, const SiteRange& sites) {
  for_each_launch_of_columns<DotTerms>(
      call.slots, [&](int slot) { return DotTerms(call, slot); },
      [&](const auto& kernel, int first, int count) {
        ExactSum sums[2 * OfColumns<DotTerms>::most];
        launch::reduce_sites<2>(sites, count, kernel, sums);
        for (int i = 0; i < count; ++i) {
          call.re[first + i].merge(sums[2 * i]);
          call.im[first + i].merge(sums[2 * i + 1]);
        }
      });
}

template <class Layout, class NormTerm, class DotTerms>
void dot(const DotCall& call, const SiteRange& sites) {
  const bool is_norm = call.y.data == nullptr;
  if constexpr (launch::is_on_gpu<Layout>) {
    is_norm ? norm_on_gpu<NormTerm>(call, sites) : dot_on_gpu<DotTerms>(call, sites);
  } else {
    for (int slot = 0; slot < call.slots; ++slot) {
      if (is_norm) {
        launch::reduce_sites<1>(sites, NormTerm(call, slot), call.re + slot);
        continue;
      }
      ExactSum sums[2] = {call.re[slot], call.im[slot]};
      launch::reduce_sites<2>(sites, DotTerms(call, slot), sums);
      call.re[slot] = sums[0];
      call.im[slot] = sums[1];
    }
  }
}

template <class Layout, class AtSite>
void update(const UpdateCall& call, const SiteRange& sites) {
  if constexpr (launch::is_on_gpu<Layout>)
    for_each_launch_of_columns<AtSite>(
        call.slots, [&](int slot) { return AtSite(call, slot); },
        [&](const auto& kernel, int, int count) { launch::for_each_site(sites, count, kernel); });
  else
    launch::for_each_site(sites, call.slots, typename AtSite::AllSlots(call));
}

template <class Layout, class Storage, bool is_complex>
void combine_reals(const CombineCall& call, const SiteRange& sites) {
  if (call.reals == 24) return combine<Layout, CombineAtSite<Layout, Storage, 24, is_complex>>(call, sites);
  if (call.reals == 6) return combine<Layout, CombineAtSite<Layout, Storage, 6, is_complex>>(call, sites);
  combine<Layout, CombineAnyAtSite<Layout, Storage, is_complex>>(call, sites);
}
}  // namespace

template <class Layout, class Storage>
void launch_combine(const CombineCall& call, const SiteRange& sites) {
  call.is_complex ? combine_reals<Layout, Storage, true>(call, sites)
                  : combine_reals<Layout, Storage, false>(call, sites);
}
template <class Layout, class Storage>
void launch_dot(const DotCall& call, const SiteRange& sites) {
  if (call.reals == 24)
    return dot<Layout, NormAtSite<Layout, Storage, 24>, DotAtSite<Layout, Storage, 24>>(call, sites);
  if (call.reals == 6)
    return dot<Layout, NormAtSite<Layout, Storage, 6>, DotAtSite<Layout, Storage, 6>>(call, sites);
  dot<Layout, NormAnyAtSite<Layout, Storage>, DotAnyAtSite<Layout, Storage>>(call, sites);
}
template <class Layout, class Storage>
void launch_update(const UpdateCall& call, const SiteRange& sites) {
  if (call.reals == 24) return update<Layout, UpdateAtSite<Layout, Storage, 24>>(call, sites);
  if (call.reals == 6) return update<Layout, UpdateAtSite<Layout, Storage, 6>>(call, sites);
  update<Layout, UpdateAnyAtSite<Layout, Storage>>(call, sites);
}

template void launch_combine<InstantiatedLayout, InstantiatedStorage>(const CombineCall&, const SiteRange&);
template void launch_dot<InstantiatedLayout, InstantiatedStorage>(const DotCall&, const SiteRange&);
template void launch_update<InstantiatedLayout, InstantiatedStorage>(const UpdateCall&, const SiteRange&);

}  // namespace trellis
