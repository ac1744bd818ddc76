#include "trellis/glass/bond_couplings.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/lattice/global_sites.hpp"

namespace trellis {

namespace {
constexpr struct {
  CouplingKind kind;
  const char* name;
} kinds[] = {{CouplingKind::gaussian, "gaussian"},
             {CouplingKind::plus_minus, "plus_minus"},
             {CouplingKind::ferromagnet, "ferromagnet"}};
}  // namespace

const char* name_of(CouplingKind kind) {
  for (const auto& k : kinds)
    if (k.kind == kind) return k.name;
  return "";
}

CouplingKind coupling_kind_from_name(const std::string& name) {
  for (const auto& k : kinds)
    if (k.name == name) return k.kind;
  throw BadArgument(message("couplings are gaussian, plus_minus or ferromagnet, not '", name, "'"));
}

std::array<double, 3> draw_couplings(CouplingKind kind, RandomKey key, int64_t site) {
  if (kind == CouplingKind::ferromagnet) return {1.0, 1.0, 1.0};
  const SiteRandom<double> random(key, RandomPurpose::spin_couplings, 0, uint64_t(site));
  if (kind == CouplingKind::gaussian) {
    const std::array<double, 2> xy = random.gaussian_pair(0), z = random.gaussian_pair(1);
    return {xy[0], xy[1], z[0]};
  }
  const std::array<double, 2> xy = random.uniform_pair(0), z = random.uniform_pair(1);
  const auto sign = [](double u) { return u < 0.5 ? -1.0 : 1.0; };
  return {sign(xy[0]), sign(xy[1]), sign(z[0])};
}

BondCouplings::BondCouplings(const SiteField& like, const SpinTables& tables)
    : tables_{tables}, lattice_{like.lattice_ptr()}, spec_{like.spec()} {
  spec_.rhs = 1;
  spec_.reals = 3;
}

void BondCouplings::set(const std::function<std::array<double, 3>(int64_t)>& couplings, bool may_be_signs) {
  bool are_signs = may_be_signs;
  const SiteLayout& layout = tables_.layout();
  const int W = layout.lanes();
  for (int parity = 0; parity < 2; ++parity) {
    spec_.subset = subset_of(parity);
    signs_[parity] = Memory();
    reals_[parity] = std::make_unique<SiteField>(lattice_, spec_);
    const std::vector<int64_t> sites = global_sites(layout, parity);
    on_host(*reals_[parity], [&](SiteField& field) {
      for (int block = 0; block < layout.blocks(parity); ++block)
        for (int lane = 0; lane < W; ++lane) {
          const std::array<double, 3> J = couplings(sites[size_t(block * W + lane)]);
          field.set_site({parity, block, lane}, 0, J.data());
          for (const double j : J) are_signs = are_signs && std::abs(j) == 1;
        }
    });
    halos_[parity] = std::make_unique<HaloExchange>(*reals_[parity], tables_.ghosts_of(parity));
    halos_[parity]->exchange(*reals_[parity]);
  }
  if (lattice_->communicator().any(!are_signs)) return;
  pack_signs();
  for (int parity = 0; parity < 2; ++parity) {
    halos_[parity].reset();
    reals_[parity].reset();
  }
}

void BondCouplings::pack_signs() {
  const SiteLayout& layout = tables_.layout();
  const size_t W = size_t(layout.lanes());
  for (int parity = 0; parity < 2; ++parity) {
    const size_t sites = size_t(layout.blocks(parity)) * W;
    std::vector<uint8_t> bytes(sites, 0);
    const auto take = [&](size_t site, int leg, double J) {
      if (J < 0) bytes[site] = uint8_t(bytes[site] | 1 << leg);
    };
    std::vector<double> ghosts(3 * size_t(tables_.ghosts_of(1 - parity)->ghosts()));
    halos_[1 - parity]->ghosts_to_canonical(ghosts.data(), 0);
    on_host(std::as_const(*reals_[1 - parity]), [&](const SiteField& others) {
      on_host(std::as_const(*reals_[parity]), [&](const SiteField& own) {
        for (int mu = 0; mu < 3; ++mu) {
          if (layout.geometry().lattice()[mu] == 1) continue;  // there are no bonds
          Coord back{0, 0, 0, 0};
          back[mu] = -1;
          const std::vector<int32_t> places = tables_.ghosts_of(1 - parity)->neighbours(parity, back);
          for (size_t i = 0; i < sites; ++i) {
            take(i, 2 * mu, own.get({parity, int(i / W), int(i % W)}, 0, mu));
            const size_t at = size_t(places[i] >> 1);
            take(i, 2 * mu + 1,
                 (places[i] & 1) != 0 ? ghosts[3 * at + size_t(mu)]
                                      : others.get({1 - parity, int(at / W), int(at % W)}, 0, mu));
          }
        }
      });
    });
    // The memory has one byte more than there are sites at least: an empty part has memory too.
    signs_[parity] = Memory(sites + 64, spec_.backend);
    signs_[parity].copy_from_host(bytes.data(), sites);
  }
}

std::vector<double> BondCouplings::to_canonical() const {
  const SiteLayout& layout = tables_.layout();
  const Geometry& geometry = layout.geometry();
  std::vector<double> J(3 * size_t(geometry.local_volume()), 0.0);
  for (int parity = 0; parity < 2; ++parity) {
    if (reals_[parity]) {
      reals_[parity]->to_canonical(J.data());
      continue;
    }
    if (!are_signs()) continue;
    const size_t W = size_t(layout.lanes()), sites = size_t(layout.blocks(parity)) * W;
    std::vector<uint8_t> bytes(sites);
    signs_[parity].copy_to_host(bytes.data(), sites);
    for (size_t i = 0; i < sites; ++i) {
      const int64_t site = site_index(layout.coord({parity, int(i / W), int(i % W)}), geometry.local());
      for (int mu = 0; mu < 3; ++mu)
        J[3 * size_t(site) + size_t(mu)] = (bytes[i] >> (2 * mu) & 1) != 0 ? -1 : 1;
    }
  }
  return J;
}

void BondCouplings::set_couplings(SpinCall& call, int parity) const {
  if (are_signs()) {
    call.signs = static_cast<const uint8_t*>(signs_[parity].data());
    return;
  }
  TRELLIS_REQUIRE(reals_[0] != nullptr, "the spin glass has no couplings yet");
  call.couplings = reals_[parity]->raw(parity);
  call.other_couplings = reals_[1 - parity]->raw(1 - parity);
  call.coupling_ghosts = halos_[1 - parity]->ghosts();
}

}  // namespace trellis
