// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/dirac/hop_then_fifth.hpp"
#include "trellis/device/team_launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// A member of a team takes S slices in the ways that are tried, where its registers hold their sums, and
/// those of a block its numbers along the fifth dimension.
template <class Storage, int LinkReals, int Ls, int S>
constexpr bool fits_registers() {
  if (Ls % S != 0) return false;
  if (std::is_same_v<Storage, double>) return S == 1 ? Ls <= 12 : S == 2 && LinkReals == 12;
  if (std::is_same_v<Storage, float>) return S == 2 || S == 3 || (S == 4 && LinkReals == 12 && Ls <= 12);
  return S == 2;
}

template <class Layout, class Storage, int LinkReals, int Ls>
void run(const WilsonHopCall& hop, const FifthDimensionCall& fifth, const SiteRange& sites) {
  const auto apart = [&] {
    WilsonHopCall of_one_shape = hop;
    of_one_shape.columns_per_thread = WilsonHop<Layout, Storage, LinkReals>::most_columns;
    launch_wilson_hop<Layout, Storage>(of_one_shape, sites);
    launch_fifth_dimension<Layout, Storage>(fifth, sites);
  };
  const auto together = [&](auto S) {
    if constexpr (fits_registers<Storage, LinkReals, Ls, S>())
      launch::for_each_site_in_teams(sites, fifth.rhs,
                                     HopThenFifth<Layout, Storage, LinkReals, Ls, S>(hop, fifth));
  };
  constexpr bool possible[] = {
      fits_registers<Storage, LinkReals, Ls, 1>(), fits_registers<Storage, LinkReals, Ls, 2>(),
      fits_registers<Storage, LinkReals, Ls, 3>(), fits_registers<Storage, LinkReals, Ls, 4>()};
  int slices_of_way[5] = {}, ways = 1;  // way 0 is two launches
  for (int S = 1; S <= 4; ++S)
    if (possible[S - 1]) slices_of_way[ways++] = S;
  using Name = HopThenFifth<Layout, Storage, LinkReals, Ls, 2>;
  launch::in_fastest_way<Name, Storage>(sites, ways, hop.slots, {hop.working_set, hop.geometry},
                                        [&](int way) {
                                          const int S = slices_of_way[way];
                                          if (S == 0) apart();
                                          if (S == 1) together(std::integral_constant<int, 1>{});
                                          if (S == 2) together(std::integral_constant<int, 2>{});
                                          if (S == 3) together(std::integral_constant<int, 3>{});
                                          if (S == 4) together(std::integral_constant<int, 4>{});
                                        });
}

template <class Layout, class Storage, int LinkReals>
bool run_length(const WilsonHopCall& hop, const FifthDimensionCall& fifth, const SiteRange& sites) {
  const auto run_if = [&](auto Ls) {
    if (fifth.slices != Ls) return false;
    run<Layout, Storage, LinkReals, Ls>(hop, fifth, sites);
    return true;
  };
  if (run_if(std::integral_constant<int, 8>{})) return true;
  if constexpr (std::is_same_v<Layout, GpuLayout>)  // emulated, for tests: one length does
    return false;
  else
    return run_if(std::integral_constant<int, 12>{}) || run_if(std::integral_constant<int, 16>{});
}
}  // namespace

template <class Layout, class Storage>
bool launch_hop_then_fifth(const WilsonHopCall& hop, const FifthDimensionCall& fifth,
                           const SiteRange& sites) {
  const bool is_bare = hop.x_term == SiteTerm::none && hop.hop_term == SiteTerm::chiral_scalar &&
                       hop.hop_scalar[0] == 1 && hop.hop_scalar[1] == 0 && hop.columns_per_thread == 0;
  const bool has_scales = !std::is_same_v<Storage, Half> || fifth.out.scale != nullptr;
  if (!is_bare || !has_scales || fifth.coefficients.is_complex || sites.size() == 0) return false;
  if (hop.link_reals == 12) return run_length<Layout, Storage, 12>(hop, fifth, sites);
  if (hop.link_reals == 18) return run_length<Layout, Storage, 18>(hop, fifth, sites);
  return false;
}

template bool launch_hop_then_fifth<InstantiatedLayout, InstantiatedStorage>(const WilsonHopCall&,
                                                                             const FifthDimensionCall&,
                                                                             const SiteRange&);

}  // namespace trellis
