#include "trellis/operator/staggered_hopping.hpp"

#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/dirac/staggered_hop_fused.hpp"

namespace trellis {

StaggeredLinks::StaggeredLinks(const GaugeField& U, const KernelChoice& choice, BackLinks back_links)
    : near_{std::make_shared<GaugeField>(U)}, choice_{choice}, back_links_{back_links} {
  near(choice.precision);
}

StaggeredLinks::StaggeredLinks(const GaugeField& fat, const GaugeField& long_links, double long_coefficient,
                               bool is_unitary, const KernelChoice& choice, BackLinks back_links)
    : near_{std::make_shared<GaugeField>(fat)},
      long_{std::make_shared<GaugeField>(long_links)},
      long_coefficient_{long_coefficient},
      is_unitary_{is_unitary},
      choice_{choice},
      back_links_{back_links} {
  TRELLIS_REQUIRE(fat.lattice_ptr() == long_links.lattice_ptr(), "fat and long links live on two lattices");
  TRELLIS_REQUIRE(choice.link_reals == 18, "fat links have 18 reals, not ", choice.link_reals);
  near(choice.precision);
  far(choice.precision);
}

int StaggeredLinks::lanes(Precision precision) const {
  return precision == choice_.precision ? choice_.lanes : 0;
}

namespace {
/// A last-level cache that cores share may hold so many bytes of links: more comes from memory in every hop.
constexpr size_t nominal_cache = size_t(32) << 20;
}  // namespace

bool StaggeredLinks::keeps_back_links(Precision precision) const {
  if (back_links_ != BackLinks::by_size) return back_links_ == BackLinks::kept;
  const size_t reals = size_t(choice_.link_reals) + far_reals();
  const size_t bytes = size_t(near_->geometry().local_volume()) * Nd * reals * element_bytes(precision);
  return is_improved() && bytes > nominal_cache;
}

std::shared_ptr<const HopLinks> StaggeredLinks::near(Precision precision) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = stored_[{precision, 1}];
  if (!entry)
    entry = std::make_shared<HopLinks>(*near_, precision, choice_.link_reals, choice_.backend,
                                       lanes(precision), keeps_back_links(precision) ? 1 : 0);
  return entry;
}

std::shared_ptr<const HopLinks> StaggeredLinks::far(Precision precision) const {
  if (!long_) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = stored_[{precision, 3}];
  if (!entry)
    entry = std::make_shared<HopLinks>(*long_, precision, far_reals(), choice_.backend, lanes(precision),
                                       keeps_back_links(precision) ? 3 : 0);
  return entry;
}

HopStencilPtr StaggeredLinks::stencil(Precision precision, int distance) const {
  const SiteLayoutPtr layout = near(precision)->layout_ptr();
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = stencils_[{precision, distance}];
  if (!entry) entry = std::make_shared<HopStencil>(layout, distance);
  return entry;
}

/// 16-bit links may change their need of scales: they are dropped and made again when asked for.
void StaggeredLinks::update(const GaugeField& U) {
  TRELLIS_REQUIRE(!is_improved(), "improved staggered links are updated from fat and long links");
  TRELLIS_REQUIRE(U.lattice_ptr() == lattice_ptr(), "the new links live on another lattice");
  *near_ = U;
  for (auto& [key, links] : stored_) links->refill(U);
}

void StaggeredLinks::update(const GaugeField& fat, const GaugeField& long_links) {
  TRELLIS_REQUIRE(is_improved(), "naive staggered links are updated from one field");
  TRELLIS_REQUIRE(fat.lattice_ptr() == lattice_ptr() && long_links.lattice_ptr() == lattice_ptr(),
                  "the new links live on another lattice");
  *near_ = fat;
  *long_ = long_links;
  for (auto& [key, links] : stored_) links->refill(key.second == 1 ? fat : long_links);
}

StaggeredHopping::StaggeredHopping(StaggeredLinksPtr links, const StaggeredPhases& phases,
                                   Precision precision)
    : links_{std::move(links)}, phases_{phases}, precision_{precision} {
  TRELLIS_REQUIRE(links_ != nullptr, "a staggered operator needs links");
  const Coord& L = lattice().extents();
  tables_ = make_tables(dirac_factors(phases, L, 1), dirac_factors(phases, L, 3, links_->long_coefficient()));
}

HopTables StaggeredHopping::make_tables(const HopFactors& near, const HopFactors& far) const {
  const auto table = [&](int distance, const HopFactors& factors) {
    return std::make_shared<const PhaseTable>(*links_->stencil(precision_, distance), factors, precision_,
                                              links_->choice().backend);
  };
  HopTables tables{table(1, near), nullptr};
  if (links_->is_improved()) tables.far = table(3, far);
  return tables;
}

FieldSpec StaggeredHopping::field_spec(Subset subset, int rhs) const {
  FieldSpec spec;
  spec.precision = precision_;
  spec.subset = subset;
  spec.rhs = rhs;
  spec.reals = 6;
  spec.backend = links_->choice().backend;
  spec.lanes = precision_ == links_->choice().precision ? links_->choice().lanes : 0;
  return spec;
}

SpinorField StaggeredHopping::make_field(Subset subset, int rhs) const {
  return SpinorField(links_->lattice_ptr(), field_spec(subset, rhs));
}

Cost StaggeredHopping::hop_cost(int parity, int rhs) const {
  Cost cost = VectorHalo::cost(halo_stencils(), links_->choice().backend, precision_, parity, rhs);
  const bool is_one = is_one_launch(parity, rhs);
  if (is_one) cost.launches = 0;                             // faces are packed by the hop
  cost.launches += cost.messages.empty() || is_one ? 1 : 2;  // else inner and border blocks go apart
  return cost;
}

double StaggeredHopping::bytes_per_site(int rhs) const {
  const double real = double(element_bytes(precision_));
  const double scale = double(scale_bytes(precision_));
  const int reals = links_->near(precision_)->link_reals() +
                    (links_->is_improved() ? links_->far(precision_)->link_reals() : 0);
  return 8.0 * reals * real + 2.0 * rhs * (6.0 * real + scale);
}

StaggeredHopping::StencilTables& StaggeredHopping::stencil_tables(int distance, int parity) const {
  const auto [at, is_new] = stencil_tables_.try_emplace({distance, parity});
  if (is_new) {
    const HopStencil& s = *links_->stencil(precision_, distance);
    const Backend backend = links_->choice().backend;
    at->second.neighbours = {s.table(parity), backend};
    at->second.inner = {s.inner(parity), backend};
    at->second.border = {s.border(parity), backend};
  }
  return at->second;
}

RawHopStencil StaggeredHopping::stencil(int distance, int parity) const {
  const bool permutes = launches_permute_lanes(links_->choice().backend);
  return {stencil_tables(distance, parity).neighbours.data(),
          permutes ? links_->stencil(precision_, distance)->permutations() : nullptr};
}

RawHopStencil StaggeredHopping::raw_stencil(int distance, int parity) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stencil(distance, parity);
}

SiteRange StaggeredHopping::inner_sites(int distance, int parity) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return site_range(stencil_tables(distance, parity).inner);
}

SiteRange StaggeredHopping::border_sites(int distance, int parity) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return site_range(stencil_tables(distance, parity).border);
}

HopPart StaggeredHopping::part(int distance, int parity, const PhaseTable& phases) const {
  const auto links = distance == 1 ? links_->near(precision_) : links_->far(precision_);
  HopPart part;
  part.stencil = stencil(distance, parity);
  part.phases = phases.raw(parity);
  part.links_here = links->raw(parity);
  part.links_there = links->raw(1 - parity);
  part.link_reals = links->link_reals();
  return part;
}

std::vector<HopStencilPtr> StaggeredHopping::halo_stencils() const {
  std::vector<HopStencilPtr> stencils{links_->stencil(precision_, 1)};
  if (links_->is_improved()) stencils.push_back(links_->stencil(precision_, 3));
  return stencils;
}

VectorHalo& StaggeredHopping::halo(int parity, int rhs) const {
  auto& entry = halos_[{parity, rhs}];
  if (!entry) entry = std::make_unique<VectorHalo>(halo_stencils(), *links_->near(precision_), parity, rhs);
  return *entry;
}

void StaggeredHopping::apply(SpinorField& out, int parity, const SpinorField& in, double b,
                             const SpinorField* x, double a) const {
  run(tables_, out, parity, in, {b, x, a}, nullptr);
}

void StaggeredHopping::set_ghosts(StaggeredHopCall& call, const VectorHalo& halo) const {
  for (int leg = 0; leg < legs; ++leg) {
    call.near.ghosts[leg] = halo.ghost(0, leg);
    if (links_->is_improved()) call.far.ghosts[leg] = halo.ghost(1, leg);
  }
}

template <class F>
auto StaggeredHopping::with_hop_links(const F& f) const {
  const std::shared_ptr<const HopLinks> near = links_->near(precision_), far = links_->far(precision_);
  const HopLinks* const links[] = {near.get(), far.get()};
  return f(std::span(links, links_->is_improved() ? 2 : 1));
}

void StaggeredHopping::start(VectorHalo& halo, const SpinorField& in) const {
  with_hop_links([&](std::span<const HopLinks* const> links) { halo.start(in, links); });
}

void StaggeredHopping::run_in_one_launch(StaggeredHopCall& call, VectorHalo& faces, int parity,
                                         const SpinorField& in) const {
  const VectorHalo::Flagged begun = with_hop_links(
      [&](std::span<const HopLinks* const> links) { return faces.begin_with_flags(in, links); });
  set_ghosts(call, faces);
  const StencilTables& widest = stencil_tables(links_->is_improved() ? 3 : 1, parity);
  const SiteRange inner = site_range(widest.inner), border = site_range(widest.border);
  dispatch(links_->choice().backend, precision_, links_->near(precision_)->layout().lanes(),
           [&]<class Layout, class Storage>() {
             if constexpr (std::is_same_v<Layout, CudaLayout>)
               launch_staggered_hop_fused<Layout, Storage>(call, begun.faces, begun.flags, inner, border);
           });
}

bool StaggeredHopping::is_one_launch(int parity, int rhs) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto made = halos_.find({parity, rhs});
  if (made != halos_.end()) return made->second->is_needed() && made->second->has_flags();
  return choose_transport(links_->choice().backend) == TransportWay::fused;
}

void StaggeredHopping::apply(const HopTables& factors, SpinorField& out, int parity, const SpinorField& in,
                             double b) const {
  run(factors, out, parity, in, {b, nullptr, 0.0}, nullptr);
}

void StaggeredHopping::apply_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                                   const StaggeredHopTask& to_middle, const StaggeredHopTask& to_out,
                                   PassOrder order) const {
  run_twice(out, middle, parity, in, to_middle, to_out, nullptr, order);
}

bool StaggeredHopping::sums_energies(int rhs) const {
  return rhs <= 2 && !is_16_bit(precision_) && launches_can_sum(links_->choice().backend);
}

std::vector<double> StaggeredHopping::apply_twice_with_energy(SpinorField& out, SpinorField& middle,
                                                              int parity, const SpinorField& in,
                                                              const StaggeredHopTask& to_middle,
                                                              const StaggeredHopTask& to_out) const {
  TRELLIS_REQUIRE(sums_energies(out.rhs()), "energies of ", out.rhs(), " right-hand sides in ",
                  name_of(precision_), ": at most 2, in double or float on the CPU");
  ExactSum sums[2];
  run_twice(out, middle, parity, in, to_middle, to_out, sums, PassOrder::faster);
  lattice().communicator().sum(sums, out.rhs());
  std::vector<double> energies;
  for (int i = 0; i < out.rhs(); ++i) energies.push_back(sums[i].value());
  return energies;
}

StaggeredHopCall StaggeredHopping::call_of(const HopTables& tables, const SpinorField& out, int parity,
                                           const SpinorField& in, const StaggeredHopTask& task,
                                           ExactSum* energies) const {
  const SiteLayoutPtr& layout = links_->near(precision_)->layout_ptr();
  const SpinorField* x = task.x;
  TRELLIS_REQUIRE(out.precision() == precision_ && in.precision() == precision_, "staggered hop in ",
                  name_of(precision_), " applied to fields in ", name_of(in.precision()), " and ",
                  name_of(out.precision()));
  TRELLIS_REQUIRE(
      out.layout_ptr() == layout && in.layout_ptr() == layout && out.reals() == 6 && in.reals() == 6,
      "staggered hop: fields live on another lattice or lane split, or are not colour vectors");
  TRELLIS_REQUIRE(out.rhs() == in.rhs() && (x == nullptr || x->rhs() == in.rhs()),
                  "staggered hop: ", in.rhs(), " right-hand sides in, ", out.rhs(), " out");
  TRELLIS_REQUIRE(&out != &in || out.subset() == Subset::full, "a hop cannot work in place");
  StaggeredHopCall call;
  call.near = part(1, parity, *tables.near);
  if (links_->is_improved()) call.far = part(3, parity, *tables.far);
  call.in = in.raw(1 - parity);
  call.out = out.raw(parity);
  if (x) call.x = x->raw(parity);
  call.x_scalar = x ? task.x_scalar : 0.0;
  call.hop_scalar = task.hop_scalar;
  call.slots = out.rhs();
  call.energies = energies;
  if (launches_can_be_cut(links_->choice().backend) || launches_have_shapes(links_->choice().backend)) {
    call.working_set = links_->near(precision_)->bytes() + in.bytes() + out.bytes() +
                       (links_->is_improved() ? links_->far(precision_)->bytes() : 0);
    call.geometry = &out.geometry();
  }
  return call;
}

void StaggeredHopping::launch(const StaggeredHopCall& call, const SiteRange& sites) const {
  dispatch(links_->choice().backend, precision_, links_->near(precision_)->layout().lanes(),
           [&]<class Layout, class Storage>() { launch_staggered_hop<Layout, Storage>(call, sites); });
}

void StaggeredHopping::run(const HopTables& tables, SpinorField& out, int parity, const SpinorField& in,
                           const StaggeredHopTask& task, ExactSum* energies) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  StaggeredHopCall call = call_of(tables, out, parity, in, task, energies);
  VectorHalo& faces = halo(parity, out.rhs());
  if (!faces.is_needed()) return launch(call, SiteRange(out.layout().blocks()));
  if (faces.has_flags()) return run_in_one_launch(call, faces, parity, in);
  start(faces, in);
  const StencilTables& widest = stencil_tables(links_->is_improved() ? 3 : 1, parity);
  launch(call, site_range(widest.inner));
  faces.finish();
  set_ghosts(call, faces);
  const SiteRange border = site_range(widest.border);
  // There are few blocks, far apart: how they are best read is tried apart from the others.
  call.working_set = call.working_set / size_t(out.layout().blocks()) * size_t(border.size());
  launch(call, border);
}

void StaggeredHopping::run_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                                 const StaggeredHopTask& to_middle, const StaggeredHopTask& to_out,
                                 ExactSum* energies, PassOrder order) const {
  const auto apart = [&] {
    run(tables_, middle, 1 - parity, in, to_middle, nullptr);
    run(tables_, out, parity, middle, to_out, energies);
  };
  if (!launches_can_be_cut(links_->choice().backend) || !has_whole_slices(out.layout())) return apart();
  std::unique_lock<std::mutex> lock(mutex_);
  VectorHalo &of_in = halo(1 - parity, in.rhs()), &of_middle = halo(parity, in.rhs());
  StaggeredHopCall first = call_of(tables_, middle, 1 - parity, in, to_middle, nullptr);
  StaggeredHopCall second = call_of(tables_, out, parity, middle, to_out, energies);
  set_ghosts(first, of_in);
  set_ghosts(second, of_middle);
  lock.unlock();
  const size_t working_set = first.working_set + out.bytes();
  const int reach = links_->is_improved() ? 3 : 1;
  StaggeredHopCall second_near = second;
  second_near.working_set = near_set(working_set, out.layout(), reach);
  const auto pass_of = [&](VectorHalo& faces, const SpinorField& from, SliceStep step) {
    SlicePass pass{std::move(step), reach};
    if (faces.is_needed()) {
      pass.start = [this, &faces, &from] { start(faces, from); };
      pass.finish = [&faces] { faces.finish(); };
    }
    return pass;
  };
  // Slices are not read beforehand: that gained nothing here (lab/two_hops).
  const auto walk_of = [&](PassOrder) {
    return SliceWalk{
        {pass_of(of_in, in, [&](const SiteRange& sites) { launch(first, sites); }),
         pass_of(of_middle, middle, [&](const SiteRange& sites) { launch(second_near, sites); })},
        {},
        0};
  };
  using Trials = LaunchTrials;
  thread_local Trials plain[2] = {Trials(2, "two naive hops"), Trials(2, "two improved hops")};
  thread_local Trials summing[2] = {Trials(2, "two naive hops and energy"),
                                    Trials(2, "two improved hops and energy")};
  Trials& trials = (energies ? summing : plain)[links_->is_improved()];
  const LaunchSubject subject{working_set, &out.geometry(), out.slots(), name_of(out.precision())};
  walk_in_order(order, out.layout(), walk_of, subject, trials, apart);
}

}  // namespace trellis
