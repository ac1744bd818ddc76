#include "trellis/field/halo/halo_exchange.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/storage/on_host.hpp"

namespace trellis {

namespace {
int parity_of(Subset subset) { return subset == Subset::full ? -1 : first_parity(subset); }

SiteStorage ghost_storage(const SiteField& like, int ghosts) {
  SiteStorage storage = like.storage();
  storage.blocks = (ghosts + storage.lanes - 1) / storage.lanes;
  return storage;
}

SiteHaloPtr checked(const SiteField& like, SiteHaloPtr sites) {
  TRELLIS_REQUIRE(sites->layout_ptr() == like.layout_ptr() && sites->parity() == parity_of(like.subset()),
                  "halo exchange: the ghost sites are of another layout or subset than the field");
  return sites;
}

SiteObjects objects_of(const SiteField& like) {
  return {.backend = like.spec().backend,
          .precision = like.precision(),
          .lanes = like.layout().lanes(),
          .reals = like.reals(),
          .slots = like.slots()};
}
}  // namespace

HaloExchange::HaloExchange(const SiteField& like, HaloShape shape)
    : HaloExchange(like, std::make_shared<SiteHalo>(like.layout_ptr(), shape, parity_of(like.subset()))) {}

HaloExchange::HaloExchange(const SiteField& like, SiteHaloPtr sites)
    : spec_{like.spec()},
      sites_{checked(like, std::move(sites))},
      storage_{ghost_storage(like, sites_->ghosts())},
      ghosts_{storage_.bytes(), like.spec().backend},
      exchange_{sites_->plan(), objects_of(like), like.geometry(), like.lattice().communicator()} {}

void HaloExchange::start(const SiteField& field) {
  TRELLIS_REQUIRE(
      field.layout_ptr() == sites_->layout_ptr() && field.spec() == spec_,
      "halo exchange: the field differs in lattice, subset, storage, reals or right-hand sides from "
      "the one that the exchange was made for");
  const int first = first_parity(field.subset()), last = last_parity(field.subset());
  exchange_.start(field.raw(first), field.raw(last), ghosts());
}

void HaloExchange::finish() { exchange_.finish(); }

void HaloExchange::exchange(const SiteField& field) {
  start(field);
  finish();
}

Cost HaloExchange::cost(const SiteHalo& sites, const FieldSpec& spec) {
  TRELLIS_REQUIRE(!sites.shape().corners, "the cost of a halo with corners has no directions");
  const Geometry& geometry = sites.layout().geometry();
  Cost cost;
  for (const auto& [rank, lists] : sites.plan().peers)
    for (int leg = 0; leg < 2 * Nd; ++leg) {
      const int mu = leg / 2, step = leg % 2 == 0 ? 1 : -1;
      if (!geometry.is_split(mu) || geometry.neighbour_rank(mu, step) != rank) continue;
      cost.add_message({mu, step,
                        double(site_halo_bytes(lists.longer_way(), spec.rhs * spec.slices, spec.reals,
                                               element_bytes(spec.precision), scale_bytes(spec.precision)))});
      break;
    }
  if (!sites.plan().own_sites.empty() || !cost.messages.empty()) ++cost.launches;
  if (!cost.messages.empty()) ++cost.launches;
  return cost;
}

RawField HaloExchange::ghosts() const { return storage_.raw(const_cast<void*>(ghosts_.data())); }

void HaloExchange::ghosts_to_canonical(double* out, int slot) const {
  on_host(ghosts_, [&](const Memory& memory) {
    for (int ghost = 0; ghost < sites_->ghosts(); ++ghost)
      for (int i = 0; i < spec_.reals; ++i)
        *out++ = storage_.get(memory.data(), ghost / storage_.lanes, ghost % storage_.lanes, slot, i);
  });
}

bool HaloExchange::get_site(const SiteField& field, const Coord& local, int slot, double* reals) const {
  const SiteHalo::Site site = sites_->find(local);
  if (site.kind == SiteHalo::Kind::none) return false;
  if (site.kind == SiteHalo::Kind::inner) {
    field.get_site(site.at, slot, reals);
    return true;
  }
  require_readable(ghosts_, "ghosts on a GPU are read with ghosts_to_canonical(), not site by site");
  for (int i = 0; i < spec_.reals; ++i)
    reals[i] =
        storage_.get(ghosts_.data(), site.ghost / storage_.lanes, site.ghost % storage_.lanes, slot, i);
  return true;
}

}  // namespace trellis
