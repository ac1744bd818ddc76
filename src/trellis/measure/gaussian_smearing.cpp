#include "trellis/measure/gaussian_smearing.hpp"

#include "trellis/comm/stop_together.hpp"
#include "trellis/device/kernel_table.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/spinor_halo.hpp"

namespace trellis {

namespace {

/// It does one step: out = (1 - 6 a) in + a (hops of in), on the blocks [begin, end) of both parities.
class GaussianStep {
 public:
  GaussianStep(std::shared_ptr<const HopLinks> links, int rhs, double a)
      : links_{std::move(links)},
        halos_{SpinorHalo(links_, rhs, spatial_directions), SpinorHalo(links_, rhs, spatial_directions)} {
    call_.diagonal = 1.0 - 6.0 * a;
    call_.coefficient = a;
    call_.directions = spatial_directions;
    call_.slots = rhs;
    const SiteLayout& layout = links_->layout();
    for (int leg = 0; leg < legs; ++leg)
      call_.stencil.legs[leg].permutation = layout.permutes(leg) ? layout.permutation(leg) : nullptr;
    for (int parity = 0; parity < 2; ++parity)
      neighbours_[parity] = {layout.neighbours(parity), links_->backend()};
  }

  void apply(SpinorField& out, const SpinorField& in, const SiteRange& blocks) {
    for (int parity = 0; parity < 2; ++parity) halos_[parity].start(in, parity);
    for (int parity = 0; parity < 2; ++parity) {
      halos_[1 - parity].finish();
      call_.stencil.table = neighbours_[parity].data();
      call_.links_here = links_->raw(parity);
      call_.links_there = links_->raw(1 - parity);
      call_.psi_here = in.raw(parity);
      call_.psi_there = in.raw(1 - parity);
      call_.out = out.raw(parity);
      for (int leg = 0; leg < legs; ++leg) call_.ghosts[leg] = halos_[1 - parity].ghost(leg);
      dispatch_double(links_->backend(), links_->layout().lanes(), [&]<class Layout, class Storage>() {
        launch_covariant_hop<Layout, Storage>(call_, blocks);
      });
    }
  }

 private:
  std::shared_ptr<const HopLinks> links_;
  SpinorHalo halos_[2];
  KernelTable<int32_t> neighbours_[2];  ///< each parity has its table
  CovariantHopCall call_;
};

/// Copies the sites of one local time slice, or of all: lanes of other slices in the same blocks are kept.
void copy_slice(SpinorField& out, const SpinorField& in, int local_time, const SiteRange& blocks) {
  double site[24];
  for (int parity = 0; parity < 2; ++parity)
    for (int block = blocks.begin; block < blocks.end; ++block)
      for (int lane = 0; lane < in.layout().lanes(); ++lane) {
        const SitePosition at{parity, block, lane};
        if (in.layout().coord(at)[3] != local_time) continue;
        for (int r = 0; r < in.rhs(); ++r) {
          in.get_site(at, r, site);
          out.set_site(at, r, site);
        }
      }
}
}  // namespace

void smear_gaussian(SpinorField& psi, const GaugeField& links, const GaussianSmearing& smearing, int time) {
  const Geometry& g = psi.geometry();
  TRELLIS_REQUIRE(smearing.steps >= 1, "Gaussian smearing needs at least one step, not ", smearing.steps);
  TRELLIS_REQUIRE(
      psi.subset() == Subset::full && psi.precision() == Precision::double_precision && psi.reals() == 24,
      "Gaussian smearing acts on full spinor fields in double");
  TRELLIS_REQUIRE(links.lattice_ptr() == psi.lattice_ptr(), "links and field live on different lattices");
  TRELLIS_REQUIRE(time == all_times || (time >= 0 && time < g.lattice()[3]), "time slice ", time,
                  " is not in 0..", g.lattice()[3] - 1);
  const auto hop_links = std::make_shared<HopLinks>(links, Precision::double_precision, 18,
                                                    psi.spec().backend, psi.spec().lanes);
  GaussianStep step(hop_links, psi.rhs(), smearing.width * smearing.width / (4 * smearing.steps));
  const int local_time = time - g.origin()[3];
  stop_together(psi.lattice().communicator());
  // Ranks that do not own the slice have no neighbour in x, y, z that does: they ask for stops only.
  if (time != all_times && (local_time < 0 || local_time >= g.local()[3])) {
    for (int i = 0; i < smearing.steps; ++i) stop_together(psi.lattice().communicator());
    return;
  }
  const int sub_extent = psi.layout().sub_extents()[3], slice_blocks = psi.layout().blocks() / sub_extent;
  SiteRange blocks(psi.layout().blocks());
  if (time != all_times) {
    blocks.begin = local_time % sub_extent * slice_blocks;
    blocks.end = blocks.begin + slice_blocks;
  }
  SpinorField now = psi, next = psi;
  for (int i = 0; i < smearing.steps; ++i) {
    stop_together(psi.lattice().communicator());
    step.apply(next, now, blocks);
    std::swap(now, next);
  }
  if (time == all_times || psi.layout().lane_extents()[3] == 1)  // no other slice has sites in these blocks
    psi = std::move(now);
  else
    copy_slice(psi, now, local_time, blocks);
}

}  // namespace trellis
