/// This section times hops of all operators, in all storages and over 1 to 12 columns.
#include <memory>
#include <utility>

#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/hopping_term.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis::gpu_check {

namespace {
constexpr int all_columns[] = {1, 2, 4, 8, 12};

/// They are three fields of a sequence D_oe, D_eo.
struct Fields {
  SpinorField in, middle, out;
  template <class Hop>
  Fields(const Hop& hop, int columns)
      : in{hop.make_field(Subset::even, columns)},
        middle{hop.make_field(Subset::odd, columns)},
        out{hop.make_field(Subset::even, columns)} {
    fill(in);
  }
};

/// Times the pair of hops on the GPU and compares its result with that of the CPU's `host`, which may be
/// null; `apply(hop, fields)` is the pair.
template <class Hop, class Apply>
void pair_of_hops(Section& section, const std::string& name, const Hop& gpu, const Hop* host, int reals,
                  int columns, Precision precision, const Geometry& geometry, const Apply& apply) {
  Fields fields(gpu, columns);
  const Times times = time_of([&] { apply(gpu, fields); });
  std::string bits;
  if (host != nullptr) {
    Fields expected(*host, columns);
    apply(*host, expected);
    bits = compared(section,
                    message(name, ", ", name_of(precision), ", ", reals, " reals, ", columns, " columns"),
                    numbers(fields.out), numbers(expected.out), rounding(precision));
  }
  const double sites = double(geometry.volume());
  section.print(row_of(section, name, geometry.lattice(), precision, reals, columns, times,
                       columns * gpu.flops_per_site() * sites, gpu.bytes_per_site(columns) * sites, bits));
}

void wilson(Section& section, const GaugeField& U, Precision precision, int reals) {
  const Geometry& geometry = U.geometry();
  std::unique_ptr<HoppingTerm> gpu, host;
  for (const int columns : all_columns) {
    if (columns > 1 && reals != 12) continue;  // storages of links differ in one column alone
    section.run(message("Wilson, ", name_of(precision), ", ", reals, " reals, ", columns, " columns"), [&] {
      const auto make = [&](Backend backend) {
        return std::make_unique<HoppingTerm>(U, WilsonParams{}, KernelChoice{precision, reals, backend, 0});
      };
      if (!gpu) gpu = make(Backend::cuda);
      if (!host && section.is_compared(geometry)) host = make(Backend::cpu);
      pair_of_hops(section, "Wilson", *gpu, host.get(), reals, columns, precision, geometry,
                   [](const HoppingTerm& hop, Fields& f) {
                     hop.apply_twice(f.out, f.middle, 0, f.in, HopTask{}, HopTask{});
                   });
    });
  }
}

void staggered(Section& section, const GaugeField& U, Precision precision, bool is_improved) {
  const Geometry& geometry = U.geometry();
  const std::string name = is_improved ? "improved staggered" : "staggered";
  std::unique_ptr<StaggeredHopping> gpu, host;
  for (const int columns : all_columns)
    section.run(message(name, ", ", name_of(precision), ", ", columns, " columns"), [&] {
      const auto make = [&](Backend backend) {
        const KernelChoice choice{precision, is_improved ? 18 : 12, backend, 0};
        const auto links = is_improved ? std::make_shared<StaggeredLinks>(U, U, -1.0 / 24, true, choice)
                                       : std::make_shared<StaggeredLinks>(U, choice);
        return std::make_unique<StaggeredHopping>(links, StaggeredPhases{}, precision);
      };
      if (!gpu) gpu = make(Backend::cuda);
      if (!host && section.is_compared(geometry)) host = make(Backend::cpu);
      pair_of_hops(section, name, *gpu, host.get(), is_improved ? 32 : 12, columns, precision, geometry,
                   [](const StaggeredHopping& hop, Fields& f) {
                     hop.apply_twice(f.out, f.middle, 0, f.in, {0.5}, {0.5});
                   });
    });
}

/// Times what the even-odd operator of domain walls consists of, each by itself.
void parts_of_domain_wall(Section& section, const DomainWallMatrix& matrix, Precision precision) {
  const int Ls = matrix.params().Ls;
  const HoppingTerm& hop = matrix.hop();
  const Geometry& geometry = hop.links().layout().geometry();
  const double half = 0.5 * double(geometry.volume());
  const double two_fields = half * (hop.bytes_per_site(2 * Ls) - hop.bytes_per_site(Ls));
  const double hop_bytes = half * hop.bytes_per_site(Ls), hop_flops = half * Ls * wilson_hop_flops;
  const double fifth_flops = half * Ls * matrix.fifth_flops(FifthMatrix::K);
  SpinorField in = matrix.make_field(Subset::even, 1), out = matrix.make_field(Subset::odd, 1);
  SpinorField x = matrix.make_field(Subset::odd, 1);
  fill(in);
  fill(x);
  const auto part = [&](const std::string& name, double flops, double bytes,
                        const std::function<void()>& call) {
    section.print(row_of(section, message("domain wall, Ls ", Ls, ": ", name), geometry.lattice(), precision,
                         12, 1, time_of(call), flops, bytes, ""));
  };
  part("hop", hop_flops, hop_bytes, [&] { hop.apply(out, 1, in, HopTask{}); });
  part("hop, then K", hop_flops + fifth_flops, hop_bytes,
       [&] { matrix.apply_hop_then_fifth(out, 1, in, FifthMatrix::K, false); });
  part("x + hop", hop_flops, hop_bytes + 0.5 * two_fields,
       [&] { matrix.apply_hop_plus(out, 1, in, -0.25, x, false); });
  part("x + hop, then K", hop_flops + fifth_flops, hop_bytes + 0.5 * two_fields,
       [&] { matrix.apply_hop_then_fifth(out, 1, in, FifthMatrix::K, true, -0.25, &x); });
  part("K", fifth_flops, two_fields, [&] { matrix.apply_fifth(out, x, 1, FifthMatrix::K, false); });
  part("K^dagger", fifth_flops, two_fields, [&] { matrix.apply_fifth(out, x, 1, FifthMatrix::K, true); });
}

void domain_wall(Section& section, const GaugeField& U, Precision precision) {
  const int Ls = is_simulated() ? 4 : 12;
  section.run(message("domain wall, ", name_of(precision)), [&] {
    DomainWallParams params;
    params.mass = 0.05;
    params.Ls = Ls;
    params.b5 = {1.5};
    params.c5 = {0.5};
    const auto make = [&](Backend backend) {
      return std::make_shared<DomainWallMatrix>(U, params, KernelChoice{precision, 12, backend, 0});
    };
    const auto matrix = make(Backend::cuda);
    const DomainWallSchur S(matrix, SchurForm::symmetric);
    SpinorField in = S.make_field(1), out = S.make_field(1);
    fill(in);
    const bool is_compared = section.is_compared(U.geometry());
    for (const bool is_dagger : {false, true}) {
      const auto apply = [&](const DomainWallSchur& D, SpinorField& to, const SpinorField& from) {
        is_dagger ? D.apply_dagger(to, from) : D.apply(to, from);
      };
      const Times times = time_of([&] { apply(S, out, in); });
      std::string bits;
      if (is_compared) {
        const DomainWallSchur host(make(Backend::cpu), SchurForm::symmetric);
        SpinorField host_in = host.make_field(1), expected = host.make_field(1);
        fill(host_in);
        apply(host, expected, host_in);
        bits = compared(section, message("domain wall, ", name_of(precision)), numbers(out),
                        numbers(expected), rounding(precision));
      }
      const Cost cost = is_dagger ? S.dagger_cost(1) : S.cost(1);
      section.print(row_of(section, message("domain wall Schur, Ls ", Ls, is_dagger ? ", dagger" : ""),
                           U.geometry().lattice(), precision, 12, 1, times, cost.flops, cost.bytes, bits));
    }
    if (!is_compared || is_simulated()) parts_of_domain_wall(section, *matrix, precision);
  });
}
}  // namespace

void measure_hops(Section& section, const std::vector<int>& extents) {
  for (const int L : extents) {
    GaugeField U(make_lattice({L, L, L, L}));
    bench::fill_random_su3(U, 1);
    for (const Precision precision : all_precisions)
      for (const int reals : {12, 18}) wilson(section, U, precision, reals);
    for (const Precision precision : all_precisions) domain_wall(section, U, precision);
    for (const Precision precision : all_precisions)
      for (const bool is_improved : {false, true}) staggered(section, U, precision, is_improved);
    for (const Precision precision : all_precisions)  // they come last: their compression on the host takes
                                                      // longest
      if (has_link_storage(precision, 8)) wilson(section, U, precision, 8);
  }
}

}  // namespace trellis::gpu_check
