#include "trellis/field/halo/field_redistribution.hpp"

#include <algorithm>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/halo/site_halo.hpp"
#include "trellis/lattice/halo_plan.hpp"

namespace trellis {

namespace {
/// Makes the lattice on the ranks of a communicator; all ranks of `all` throw where it cannot be cut.
LatticePtr cut_over_few(const Lattice& lattice, const CommunicatorPtr& few, const Coord& grid) {
  LatticePtr made;
  std::string error;
  try {
    if (few) made = make_lattice(lattice.extents(), grid, few, lattice.geometry().boundary());
  } catch (const BadArgument& refused) {
    error = refused.what();
  }
  lattice.communicator().agree_on_argument(error);
  return made;
}

/// Tells all ranks the process grid of the few ranks, as they have to know it.
ProcessGrid tell_grid(Communicator& all, const LatticePtr& few_lattice, const std::vector<int>& few_ranks) {
  Coord extents{};
  std::vector<int> rank_at(few_ranks.size());
  if (few_lattice) {
    const ProcessGrid& grid = few_lattice->geometry().grid();
    extents = grid.extents();
    for (int rank = 0; rank < grid.size(); ++rank)
      rank_at[size_t(site_index(grid.coord_of(rank), extents))] = rank;
  }
  all.broadcast(extents.data(), sizeof(extents), few_ranks.front());
  all.broadcast(rank_at.data(), rank_at.size() * sizeof(int), few_ranks.front());
  return ProcessGrid(extents, rank_at);
}

/// Returns the bytes of a site's share of a message. The numbers of odd sites lie behind those of even ones,
/// whatever their count is, where doubles and scales can be read.
size_t site_bytes(const FieldSpec& spec) {
  constexpr size_t alignment = sizeof(double);
  const size_t bytes = site_halo_bytes(1, spec.rhs * spec.slices, spec.reals, element_bytes(spec.precision),
                                       scale_bytes(spec.precision));
  return (bytes + alignment - 1) / alignment * alignment;
}

SiteHaloCall call_for(const SiteField& field) {
  SiteHaloCall call;
  call.slots = field.slots();
  call.reals = field.reals();
  return call;
}

/// Returns where the sites of a parity lie in a message.
void* share_of(const void* message, const FieldSpec& spec, int sites_before) {
  return static_cast<char*>(const_cast<void*>(message)) + size_t(sites_before) * site_bytes(spec);
}
}  // namespace

FieldRedistribution::Places::Places(const SiteLayout& layout, const FieldSpec& spec,
                                    const std::vector<SiteBox>& boxes)
    : subset_{spec.subset}, boxes_{boxes}, sites_(boxes.size()) {
  const int lanes = layout.lanes();
  for (size_t i = 0; i < boxes_.size(); ++i) {
    for_each_row(boxes_[i], [&](Coord x) {
      for (int n = 0; n < boxes_[i].extents[0]; ++n, ++x[0]) {
        const SitePosition at = layout.position(layout.geometry().to_local(x));
        sites_[i][size_t(at.parity)].places.push_back(HaloPlace::of(0, at.block, lanes, at.lane));
      }
    });
    for (OfParity& sites : sites_[i]) sites.table = {sites.places, spec.backend};
  }
}

template <class F>
void FieldRedistribution::Places::for_each_parity(const SiteBox& box, const F& f) const {
  const auto found = std::find(boxes_.begin(), boxes_.end(), box);
  const std::array<OfParity, 2>& sites = sites_[size_t(found - boxes_.begin())];
  int before = 0;
  for (int parity = first_parity(subset_); parity <= last_parity(subset_); ++parity) {
    const KernelTable<int32_t>& table = sites[size_t(parity)].table;
    if (table.size() > 0) f(parity, table, before);
    before += int(table.size());
  }
}

int FieldRedistribution::Places::launches() const {
  int count = 0;
  for (const SiteBox& box : boxes_)
    for_each_parity(box, [&](int, const KernelTable<int32_t>&, int) { ++count; });
  return count;
}

FieldRedistribution::FieldRedistribution(const SiteField& like, const std::vector<int>& few_ranks,
                                         Coord few_grid)
    : spec_{like.spec()}, lattice_{like.lattice_ptr()} {
  Communicator& all = lattice_->communicator();
  few_lattice_ = cut_over_few(*lattice_, all.subset(few_ranks), few_grid);
  const Redistribution::Cut cut{lattice_->extents(), lattice_->geometry().grid(), few_ranks,
                                tell_grid(all, few_lattice_, few_ranks)};
  redistribution_ = std::make_unique<Redistribution>(all, cut, site_bytes(spec_), spec_.backend);
  all_places_ = std::make_unique<Places>(like.layout(), spec_, redistribution_->boxes_among_all());
  if (const auto few = make_few())
    few_places_ = std::make_unique<Places>(few->layout(), spec_, redistribution_->boxes_among_few());
}

std::unique_ptr<SiteField> FieldRedistribution::make_few() const {
  return few_lattice_ ? std::make_unique<SiteField>(few_lattice_, spec_) : nullptr;
}

void FieldRedistribution::require_kind(const SiteField& all, const SiteField* few) const {
  TRELLIS_REQUIRE(all.lattice_ptr() == lattice_ && all.spec() == spec_,
                  "redistribution: the field of all ranks differs in lattice, subset, storage, reals or "
                  "right-hand sides from the one that it was made for");
  TRELLIS_REQUIRE((few != nullptr) == (few_lattice_ != nullptr),
                  "redistribution: each of the few ranks gives a field on them, and no other rank does");
  TRELLIS_REQUIRE(few == nullptr || (few->lattice_ptr() == few_lattice_ && few->spec() == spec_),
                  "redistribution: the field of few ranks is not like those of make_few()");
}

void FieldRedistribution::pack(const SiteField& field, const Places& places, const SiteBox& box,
                               void* message) const {
  places.for_each_parity(box, [&](int parity, const KernelTable<int32_t>& sites, int before) {
    SiteHaloCall call = call_for(field);
    call.sites[0] = call.sites[1] = field.raw(parity);
    const SiteHaloList list{sites.data(), nullptr, share_of(message, spec_, before), int(sites.size())};
    dispatch(spec_.backend, spec_.precision, field.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_site_halo_pack<Layout, Storage>(call, {&list, 1});
    });
  });
}

void FieldRedistribution::unpack(SiteField& field, const Places& places, const SiteBox& box,
                                 const void* message) const {
  places.for_each_parity(box, [&](int parity, const KernelTable<int32_t>& sites, int before) {
    SiteHaloCall call = call_for(field);
    call.ghosts = field.raw(parity);
    const SiteHaloList list{nullptr, sites.data(), share_of(message, spec_, before), int(sites.size())};
    dispatch(spec_.backend, spec_.precision, field.layout().lanes(), [&]<class Layout, class Storage>() {
      launch_site_halo_unpack<Layout, Storage>(call, {&list, 1});
    });
  });
}

/// Returns the cost: each number is read and written twice, in fields and in messages.
Cost FieldRedistribution::cost_of(const std::vector<Redistribution::Sent>& messages) const {
  Cost cost = cost_of_passes(*lattice_, spec_, 4, 0, 0, 0);
  cost.launches = all_places_->launches() + (few_places_ ? few_places_->launches() : 0);
  for (const Redistribution::Sent& m : messages) cost.add_message({to_a_rank, m.rank, double(m.bytes)});
  return cost;
}
Cost FieldRedistribution::cost_to_few() const { return cost_of(redistribution_->sent_to_few()); }
Cost FieldRedistribution::cost_to_all() const { return cost_of(redistribution_->sent_to_all()); }

void FieldRedistribution::to_few(SiteField* few, const SiteField& all) {
  require_kind(all, few);
  redistribution_->to_few(
      [this, &all](const SiteBox& box, void* message) { pack(all, *all_places_, box, message); },
      [this, few](const SiteBox& box, const void* message) { unpack(*few, *few_places_, box, message); });
}

void FieldRedistribution::to_all(SiteField& all, const SiteField* few) {
  require_kind(all, few);
  redistribution_->to_all(
      [this, few](const SiteBox& box, void* message) { pack(*few, *few_places_, box, message); },
      [this, &all](const SiteBox& box, const void* message) { unpack(all, *all_places_, box, message); });
}

}  // namespace trellis
