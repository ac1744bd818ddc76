#include "trellis/measure/two_hop_smearing.hpp"

#include "trellis/comm/stop_together.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/vector_halo.hpp"
#include "trellis/kernels/source/direction_hop.hpp"

namespace trellis {

namespace {

/// The task is out = x_scalar x + hop_scalar times the sum of the forward and the backward hop; x may be
/// null.
struct DirectionHopTask {
  double hop_scalar = 1.0;
  const SpinorField* x = nullptr;
  double x_scalar = 0.0;
};

/// It applies the hops along single spatial directions, with the halos of these alone.
class DirectionHops {
 public:
  /// Serves fields of colour vectors like `psi`.
  DirectionHops(const GaugeField& links, const SpinorField& psi)
      : links_(links, Precision::double_precision, 18, psi.spec().backend, psi.spec().lanes),
        stencil_{std::make_shared<HopStencil>(links_.layout_ptr(), 1)} {
    for (int parity = 0; parity < 2; ++parity) {
      neighbours_[parity] = {stencil_->table(parity), links_.backend()};
      for (int mu = 0; mu < spatial_directions; ++mu)
        halos_[mu][parity] = std::make_unique<VectorHalo>(std::vector{HopStencilPtr(stencil_)}, links_,
                                                          parity, psi.rhs(), mu, mu);
    }
  }

  /// Computes both parities of out on these blocks. @pre other ranks that this one has neighbours on do the
  /// same
  void apply(int mu, SpinorField& out, const SpinorField& in, const SiteRange& blocks,
             const DirectionHopTask& task) {
    for (int parity = 0; parity < 2; ++parity) {
      DirectionHopCall call = call_of(mu, parity, out, in, task);
      VectorHalo& halo = *halos_[mu][parity];
      if (halo.is_needed()) {
        const HopLinks* const links[] = {&links_};
        halo.start(in, links);
        halo.finish();
        for (int side = 0; side < 2; ++side) call.ghosts[side] = halo.ghost(0, 2 * mu + side);
      }
      dispatch_double(links_.backend(), links_.layout().lanes(), [&]<class Layout, class Storage>() {
        launch_direction_hop<Layout, Storage>(call, blocks);
      });
    }
  }

 private:
  DirectionHopCall call_of(int mu, int parity, SpinorField& out, const SpinorField& in,
                           const DirectionHopTask& task) const {
    DirectionHopCall call;
    call.stencil = {neighbours_[parity].data(),
                    launches_permute_lanes(links_.backend()) ? stencil_->permutations() : nullptr};
    call.links_here = links_.raw(parity);
    call.links_there = links_.raw(1 - parity);
    call.in = in.raw(1 - parity);
    call.out = out.raw(parity);
    call.hop_scalar = task.hop_scalar;
    call.has_x = task.x != nullptr;
    if (task.x) call.x = task.x->raw(parity);
    call.x_scalar = task.x_scalar;
    call.direction = mu;
    call.slots = out.rhs();
    return call;
  }

  HopLinks links_;
  HopStencilPtr stencil_;
  KernelTable<int32_t> neighbours_[2];  ///< each parity has its table
  std::unique_ptr<VectorHalo> halos_[spatial_directions][2];
};

/// Returns the blocks of a local time slice; there are none where this rank does not have it.
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
  DirectionHops hops(links, psi);
  const double a = smearing.width * smearing.width / (16 * smearing.steps);
  SpinorField now = psi, next = SpinorField::like(now), hopped = next;
  const SiteRange blocks = blocks_of(now.layout(), time);
  for (int step = 0; step < smearing.steps; ++step) {
    stop_together(lattice.communicator());
    // Ranks that do not own the slice have no neighbour in x, y, z that does: they ask for stops only.
    if (blocks.size() == 0) continue;
    for (int k = 0; k < spatial_directions; ++k) {
      hops.apply(k, hopped, now, blocks, {1.0});
      hops.apply(k, next, hopped, blocks, {a, k == 0 ? &now : &next, k == 0 ? 1.0 - 12.0 * a : 1.0});
    }
    std::swap(now, next);
  }
  psi = std::move(now);
}

}  // namespace trellis
