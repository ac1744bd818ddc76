#include "trellis/operator/hopping_term.hpp"

#include <algorithm>
#include <numeric>

#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/block_stream.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/global_values.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/dirac/wilson_hop_compressed.hpp"
#include "trellis/kernels/dirac/wilson_hop_fused.hpp"
#include "trellis/kernels/linalg/linear_algebra.hpp"
#include "trellis/lattice/walk_order.hpp"
#include "trellis/operator/tiled_spinor.hpp"

namespace trellis {

HoppingTerm::HoppingTerm(const GaugeField& U, const WilsonParams& params, const KernelChoice& choice)
    : choice_{choice},
      links_{
          std::make_shared<HopLinks>(U, choice.precision, choice.link_reals, choice.backend, choice.lanes)} {
  const SiteLayout& layout = links_->layout();
  const Geometry& geometry = layout.geometry();
  tables_ = links_->lattice_ptr()->site_tables(links_->layout_ptr(), choice.backend);
  for (int leg = 0; leg < legs; ++leg) {
    const int mu = leg / 2, step = leg % 2 == 0 ? 1 : -1;
    const std::complex<double> z = step > 0 ? params.boundary[mu] : std::conj(params.boundary[mu]);
    LegPhases& p = phases_[leg];
    p.coefficient = mu < 3 ? params.nu / params.xi0 : 1.0;
    p.is_trivial = z == 1.0 || !geometry.at_boundary(mu, step);
    p.is_complex = z.imag() != 0.0;
    for (int lane = 0; lane < layout.lanes(); ++lane) {
      const bool crosses = !p.is_trivial && layout.leaves_rank(leg, lane);
      p.re[lane] = crosses ? z.real() : 1.0;
      p.im[lane] = crosses ? z.imag() : 0.0;
    }
  }
}

FieldSpec HoppingTerm::field_spec(Subset subset, int rhs, int slices) const {
  FieldSpec spec;
  spec.precision = choice_.precision;
  spec.subset = subset;
  spec.rhs = rhs;
  spec.backend = choice_.backend;
  spec.lanes = choice_.lanes;
  spec.slices = slices;
  return spec;
}

SpinorField HoppingTerm::make_field(Subset subset, int rhs, int slices) const {
  return SpinorField(links_->lattice_ptr(), field_spec(subset, rhs, slices));
}

double HoppingTerm::bytes_per_site(int rhs) const {
  const double real = double(element_bytes(choice_.precision));
  const double scale = double(scale_bytes(choice_.precision));
  return 8.0 * choice_.link_reals * real + 2.0 * rhs * (24.0 * real + scale);
}

/// Where ranks divide the lattice, the inner and the border blocks are launched apart, or, with the faces, in
/// one launch.
int HoppingTerm::launches_then(int slots) const {
  if (launches_can_be_cut(choice_.backend)) return 0;
  return links_->layout().geometry().grid().size() > 1 && !is_one_launch(slots) ? 2 : 1;
}

bool HoppingTerm::is_one_launch(int slots) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto made = halos_.find(slots);
  if (made != halos_.end()) return made->second->is_needed() && made->second->has_flags();
  return choose_transport(choice_.backend) == TransportWay::fused;
}

Cost HoppingTerm::hop_cost(int slots, int kernels_then) const {
  Cost cost = WilsonHalo::cost(*links_, slots);
  if (is_one_launch(slots)) cost.launches = 0;  // faces are packed by the hop
  cost.launches +=
      (cost.messages.empty() || is_one_launch(slots) ? 1 : 2) + kernels_then * launches_then(slots);
  return cost;
}

RawStencil HoppingTerm::stencil(int parity) const {
  const SiteLayout& layout = links_->layout();
  RawStencil s;
  s.table = tables_->neighbours(parity);
  for (int leg = 0; leg < legs; ++leg) {
    StencilLeg& l = s.legs[leg];
    l.permutation = layout.permutes(leg) ? layout.permutation(leg) : nullptr;
    l.phase_re = phases_[leg].is_trivial ? nullptr : phases_[leg].re;
    l.phase_im = phases_[leg].is_trivial || !phases_[leg].is_complex ? nullptr : phases_[leg].im;
    l.coefficient = phases_[leg].coefficient;
  }
  return s;
}

/// Returns the walk of launches. Where they can be cut, they go in columns of which two time slices, with the
/// links between, are about as large as a core's own cache. With several right-hand sides columns would be
/// too thin: they gained nothing there (lab/wilson_hop).
const HoppingTerm::Walk& HoppingTerm::walk(int slots) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& walk = walks_[slots];
  if (walk) return *walk;
  constexpr double nominal_cache = 3.2e6;  // of 0.8 to 3.2 MB this is the best on cores with 2 MB
  const SiteLayout& layout = links_->layout();
  const double block_bytes = bytes_per_site(slots) * layout.lanes();
  walk = std::make_unique<Walk>();
  if (!launches_can_be_cut(choice_.backend)) return *walk;
  const int column_blocks = slots == 1 ? int(nominal_cache / (2 * block_bytes)) : layout.blocks();
  std::vector<int32_t> all(size_t(layout.blocks()));
  std::iota(all.begin(), all.end(), 0);
  walk->all = in_columns(layout, all, column_blocks);
  if (walk->all == all) walk->all.clear();
  for (int parity = 0; parity < 2; ++parity) {
    walk->inner[parity] = in_columns(layout, layout.inner(parity), column_blocks);
    walk->border[parity] = in_columns(layout, layout.border(parity), column_blocks);
  }
  return *walk;
}

WilsonHalo& HoppingTerm::halo(int rhs) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = halos_[rhs];
  if (!entry) entry = std::make_unique<WilsonHalo>(links_, rhs);
  return *entry;
}

TileNorms::TileNorms(const SpinorField& field) : field_{field}, sums_(size_t(field.slots())) {}

void TileNorms::add(const SiteRange& tile, const RawField& place) {
  DotCall call;
  call.re = sums_.data();
  call.reals = field_.reals();
  call.slots = field_.slots();
  call.x = place;
  dispatch(field_.spec().backend, field_.precision(), field_.layout().lanes(),
           [&]<class Layout, class Storage>() { launch_dot<Layout, Storage>(call, tile); });
}

Coefficients TileNorms::values() const { return global_values(field_, sums_); }

Coefficients HoppingTerm::apply_norm2(SpinorField& out, int parity, const SpinorField& in,
                                      const HopTask& task) const {
  TRELLIS_REQUIRE(out.subset() != Subset::full && !task.then,
                  "the norm with a hop is that of a field of one parity, as the hop leaves it");
  TileNorms norms(out);
  HopTask summing = task;
  summing.then = [&](const SiteRange& tile, const RawField& place) { norms.add(tile, place); };
  apply(out, parity, in, summing);
  return norms.values();
}

WilsonHopCall HoppingTerm::call_of(const SpinorField& out, int parity, const SpinorField& in,
                                   const HopTask& task) const {
  TRELLIS_REQUIRE(out.precision() == choice_.precision && in.precision() == choice_.precision,
                  "hopping term in ", name_of(choice_.precision), " applied to fields in ",
                  name_of(in.precision()), " and ", name_of(out.precision()));
  TRELLIS_REQUIRE(&out.layout() == &links_->layout() && &in.layout() == &links_->layout(),
                  "hopping term: fields live on another lattice or lane split");
  TRELLIS_REQUIRE(out.slots() == in.slots(), "hopping term: ", in.slots(), " spinors a site in, ",
                  out.slots(), " out");
  TRELLIS_REQUIRE(&out != &in || out.subset() == Subset::full, "hopping term cannot work in place");
  WilsonHopCall call;
  call.stencil = stencil(parity);
  call.links_here = links_->raw(parity);
  call.links_there = links_->raw(1 - parity);
  call.link_reals = choice_.link_reals;
  call.in = in.raw(1 - parity);
  call.out = out.raw(parity);
  if (task.x) call.x = task.x->raw(parity);
  if (task.clover) call.clover = task.clover->raw(parity);
  call.x_term = task.x_term;
  call.hop_term = task.hop_term;
  call.x_scalar[0] = task.x_scalar.real();
  call.x_scalar[1] = task.x_scalar.imag();
  call.hop_scalar[0] = task.hop_scalar.real();
  call.hop_scalar[1] = task.hop_scalar.imag();
  call.coefficient = task.coefficient;
  call.is_dagger = task.is_dagger;
  call.slots = out.slots();
  call.columns_per_thread = task.columns_per_thread;
  if (launches_can_be_cut(choice_.backend) || launches_have_shapes(choice_.backend)) {
    call.working_set = links_->bytes() + in.bytes() + out.bytes();
    call.geometry = &out.geometry();
  }
  return call;
}

void HoppingTerm::launch(const WilsonHopCall& call, const SpinorField& out, int parity, const HopTask& task,
                         const SiteRange& sites, OutputUse use) const {
  const auto step = [&](const SiteRange& tile, const RawField& place) {
    WilsonHopCall own = call;
    own.out = place;
    if (task.together && task.together(own, tile)) return;
    dispatch(choice_.backend, choice_.precision, out.layout().lanes(), [&]<class Layout, class Storage>() {
      if constexpr (!std::is_same_v<Storage, Fp16>)  // fixed point has no links of 8 reals (field/hop_links)
        if (own.link_reals == 8) return launch_wilson_hop_compressed<Layout, Storage>(own, tile);
      launch_wilson_hop<Layout, Storage>(own, tile);
    });
    if (task.then) task.then(tile, place);
  };
  if (launches_can_be_cut(choice_.backend))
    walk_in_faster_tiles(tiled(out, parity), sites, bool(task.then), use, links_->bytes() + 2 * out.bytes(),
                         step);
  else
    step(sites, out.raw(parity));
}

void HoppingTerm::apply(SpinorField& out, int parity, const SpinorField& in, const HopTask& task) const {
  WilsonHopCall call = call_of(out, parity, in, task);
  WilsonHalo& exchange = halo(out.slots());
  const Walk& blocks = walk(out.slots());
  if (!exchange.is_needed())
    return launch(call, out, parity, task,
                  blocks.all.empty() ? SiteRange(out.layout().blocks()) : SiteRange(blocks.all));
  if (exchange.has_flags()) return apply_in_one_launch(call, exchange, out, parity, in, task);
  exchange.start(in, 1 - parity, task.is_dagger);
  const bool is_cut = launches_can_be_cut(choice_.backend);
  launch(call, out, parity, task, is_cut ? SiteRange(blocks.inner[parity]) : tables_->inner(parity));
  exchange.finish();
  for (int leg = 0; leg < legs; ++leg) call.ghosts[leg] = exchange.ghost(leg);
  const SiteRange border = is_cut ? SiteRange(blocks.border[parity]) : tables_->border(parity);
  // There are few blocks, far apart: how they are best read is tried apart from the others.
  call.working_set = call.working_set / size_t(out.layout().blocks()) * size_t(border.size());
  launch(call, out, parity, task, border);
}

void HoppingTerm::apply_in_one_launch(WilsonHopCall& call, WilsonHalo& exchange, SpinorField& out, int parity,
                                      const SpinorField& in, const HopTask& task) const {
  const WilsonHalo::Flagged begun = exchange.begin_with_flags(in, 1 - parity, task.is_dagger);
  for (int leg = 0; leg < legs; ++leg) call.ghosts[leg] = exchange.ghost(leg);
  const SiteRange inner = tables_->inner(parity), border = tables_->border(parity);
  dispatch(choice_.backend, choice_.precision, out.layout().lanes(), [&]<class Layout, class Storage>() {
    if constexpr (std::is_same_v<Layout, CudaLayout>)
      launch_wilson_hop_fused<Layout, Storage>(call, begun.faces, begun.flags, inner, border);
  });
  if (task.then) task.then(SiteRange(out.layout().blocks()), out.raw(parity));
}

void HoppingTerm::apply_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                              const HopTask& to_middle, const HopTask& to_out,
                              const std::function<void(const SiteRange&)>& prepare, PassOrder order) const {
  const auto apart = [&] {
    if (prepare) prepare(SiteRange(in.layout().blocks()));
    apply(middle, 1 - parity, in, to_middle);
    apply(out, parity, middle, to_out);
  };
  if (!launches_can_be_cut(choice_.backend) || !has_whole_slices(out.layout())) return apart();
  WilsonHopCall first = call_of(middle, 1 - parity, in, to_middle);
  WilsonHopCall second = call_of(out, parity, middle, to_out);
  const size_t working_set = links_->bytes() + in.bytes() + middle.bytes() + out.bytes();
  WilsonHopCall first_near = first, second_near = second;
  first_near.working_set = second_near.working_set = near_set(working_set, out.layout(), 1);
  WilsonHalo& exchange = halo(out.slots());
  const auto pass_of = [&](const SpinorField& from, int parity_from, bool is_dagger, SliceStep step) {
    SlicePass pass{std::move(step), 1};
    if (exchange.is_needed()) {
      pass.start = [&exchange, &from, parity_from, is_dagger] {
        exchange.start(from, parity_from, is_dagger);
      };
      pass.finish = [&] {
        exchange.finish();
        for (WilsonHopCall* call : {&first, &first_near, &second_near})
          for (int leg = 0; leg < legs; ++leg) call->ghosts[leg] = exchange.ghost(leg);
      };
    }
    return pass;
  };
  std::vector<BlockStream> from_memory = links_->streams();
  if (!prepare) from_memory.push_back(in.stream(parity));
  from_memory.push_back(middle.stream(1 - parity));
  const auto walk_of = [&](PassOrder slices) {
    const bool is_read = slices == PassOrder::in_slices_read;
    SliceWalk walk;
    if (is_read) walk.read = [&](const SiteRange& sites) { read_streams(from_memory, sites); };
    walk.read_ahead = prepare ? 0 : 1;
    if (prepare) walk.passes.push_back({prepare, 0});
    walk.passes.push_back(pass_of(in, parity, to_middle.is_dagger, [&, is_read](const SiteRange& sites) {
      launch(is_read ? first_near : first, middle, 1 - parity, to_middle, sites, OutputUse::soon);
    }));
    walk.passes.push_back(pass_of(middle, 1 - parity, to_out.is_dagger, [&](const SiteRange& sites) {
      launch(second_near, out, parity, to_out, sites);
    }));
    return walk;
  };
  // With several spinors a site links are the smaller part: to read slices beforehand was slower
  // (lab/two_hops).
  using Trials = LaunchTrials;
  thread_local Trials of_one[2] = {Trials(slice_orders, "two Wilson hops"),
                                   Trials(slice_orders, "two Wilson hops with steps")};
  thread_local Trials of_several[3] = {Trials(2, "two Wilson hops"), Trials(2, "two Wilson hops with steps"),
                                       Trials(2, "two Wilson hops after a step")};
  const bool has_steps = to_middle.then || to_out.then;
  Trials& trials =
      out.slots() == 1 && !prepare ? of_one[has_steps] : of_several[prepare ? 2 : int(has_steps)];
  const LaunchSubject subject{working_set, &out.geometry(), out.slots(), name_of(out.precision())};
  walk_in_order(order, out.layout(), walk_of, subject, trials, apart);
}

}  // namespace trellis
