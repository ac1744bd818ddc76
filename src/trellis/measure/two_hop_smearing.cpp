#include "trellis/measure/two_hop_smearing.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/staggered_hopping.hpp"

namespace trellis {

namespace {
constexpr int spatial_directions = 3;

/// Factors of the sum of the forward and the backward hop in one direction.
HopTables hops_in(const StaggeredHopping& hopping, int direction) {
  const auto only = [direction](const Coord&, int mu) {
    return std::complex<double>(mu == direction ? 1.0 : 0.0);
  };
  return hopping.make_tables({only, only}, {only, only});
}

/// The blocks of a local time slice; none where this rank does not have it.
SiteRange blocks_of(const SiteLayout& layout, int time) {
  SiteRange blocks(layout.blocks());
  if (time == all_times) return blocks;
  const Geometry& g = layout.geometry();
  const int local_time = time - g.origin()[3], sub_extent = layout.sub_extents()[3];
  if (local_time < 0 || local_time >= g.local()[3]) return SiteRange(0);
  const int slice = layout.blocks() / sub_extent;
  blocks.begin = local_time % sub_extent * slice;
  blocks.end = blocks.begin + slice;
  return blocks;
}
}  // namespace

/// With H_k the sum of both hops over one site in direction k, H_k^2 is the sum of both over two, and 2: the
/// links V and a stencil of two sites are not needed.
void smear_two_hops(SpinorField& psi, const GaugeField& links, const GaussianSmearing& smearing, int time) {
  const Lattice& lattice = psi.lattice();
  TRELLIS_REQUIRE(smearing.steps >= 1, "Gaussian smearing needs at least one step, not ", smearing.steps);
  TRELLIS_REQUIRE(psi.subset() == Subset::full && psi.precision() == Precision::double_precision &&
                      psi.reals() == colour_vector_reals,
                  "smearing by two hops acts on full fields of colour vectors in double");
  TRELLIS_REQUIRE(links.lattice_ptr() == psi.lattice_ptr(), "links and field live on different lattices");
  TRELLIS_REQUIRE(time == all_times || (time >= 0 && time < lattice.extents()[3]), "time slice ", time,
                  " is not in 0..", lattice.extents()[3] - 1);
  KernelChoice choice;
  choice.backend = psi.spec().backend;
  choice.lanes = psi.spec().lanes;
  const StaggeredHopping hopping(std::make_shared<StaggeredLinks>(links, choice), {},
                                 Precision::double_precision);
  const HopTables tables[] = {hops_in(hopping, 0), hops_in(hopping, 1), hops_in(hopping, 2)};
  const double a = smearing.width * smearing.width / (16 * smearing.steps);
  SpinorField now = hopping.make_field(Subset::full, psi.rhs());
  SpinorField next = SpinorField::like(now), hopped = next;
  convert(now, psi);
  const SiteRange blocks = blocks_of(now.layout(), time);
  for (int step = 0; step < smearing.steps; ++step) {
    stop_together(lattice.communicator());
    for (int k = 0; k < spatial_directions; ++k) {
      for (int parity = 0; parity < 2; ++parity)
        hopping.apply_on(blocks, tables[k], hopped, parity, now, {1.0});
      const StaggeredHopTask add{a, k == 0 ? &now : &next, k == 0 ? 1.0 - 12.0 * a : 1.0};
      for (int parity = 0; parity < 2; ++parity)
        hopping.apply_on(blocks, tables[k], next, parity, hopped, add);
    }
    std::swap(now, next);
  }
  convert(psi, now);
}

}  // namespace trellis
