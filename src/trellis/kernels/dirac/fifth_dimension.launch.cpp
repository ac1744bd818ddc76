// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/device/launch.hpp"
#include "trellis/device/team_launch.hpp"
#include "trellis/kernels/dirac/complex_fifth_dimension.hpp"
#include "trellis/kernels/dirac/fifth_dimension_by_parts.hpp"
#include "trellis/kernels/dirac/fifth_dimension_in_teams.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// These lengths of the fifth dimension have kernels of their own on GPUs: 24 slices of 16 bits would not fit
/// into a thread's registers. The emulated layout, which serves tests, has two of them.
template <class Layout, class Storage>
using LengthsInTeams =
    std::conditional_t<std::is_same_v<Layout, GpuLayout>, std::integer_sequence<int, 8, 12>,
                       std::conditional_t<sizeof(typename StorageTraits<Storage>::element) == 2,
                                          std::integer_sequence<int, 8, 10, 12, 16, 20>,
                                          std::integer_sequence<int, 8, 10, 12, 16, 20, 24>>>;

template <class Storage, int... Ls>
bool launch_in_teams(const FifthDimensionCall& call, const SiteRange& sites,
                     std::integer_sequence<int, Ls...>) {
  const auto launch = [&](auto length) {
    if (call.slices != length) return false;
    using Kernel = FifthDimensionInTeams<Storage, length>;
    launch::for_each_site_in_teams(sites, Kernel::slots(call.rhs), Kernel(call));
    return true;
  };
  return (launch(std::integral_constant<int, Ls>{}) || ...);
}
}  // namespace

template <class Layout, class Storage>
void launch_fifth_dimension(const FifthDimensionCall& call, const SiteRange& sites) {
  if (call.coefficients.is_complex)
    return launch::for_each_site(sites, call.rhs, ComplexFifthDimension<Layout, Storage>(call));
  constexpr bool is_for_gpus = std::is_base_of_v<GpuLayout, Layout>;
  if constexpr (is_for_gpus)
    if (launch_in_teams<Storage>(call, sites, LengthsInTeams<Layout, Storage>{})) return;
  if constexpr (is_for_gpus && !std::is_same_v<Storage, Half>) {
    using Kernel = FifthDimensionByParts<Layout, Storage>;
    launch::for_each_site(sites, Kernel::slots(call.rhs), Kernel(call));
  } else {
    launch::for_each_site(sites, call.rhs, FifthDimension<Layout, Storage>(call));
  }
}

template void launch_fifth_dimension<InstantiatedLayout, InstantiatedStorage>(const FifthDimensionCall&,
                                                                              const SiteRange&);

}  // namespace trellis
