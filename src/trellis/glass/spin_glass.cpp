#include "trellis/glass/spin_glass.hpp"

#include <cmath>

#include "trellis/algebra/random.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/glass/plane_pass.hpp"
#include "trellis/kernels/glass/spin_update.hpp"
#include "trellis/lattice/global_sites.hpp"

namespace trellis {

namespace {
FieldSpec spin_spec(const SpinGlassSpec& spec, int parity) {
  return {.precision = spec.precision,
          .subset = subset_of(parity),
          .rhs = spec.slots,
          .reals = 3,
          .backend = spec.backend,
          .lanes = spec.lanes};
}

void require_legal(const Lattice& lattice, const SpinGlassSpec& spec) {
  TRELLIS_REQUIRE(!is_16_bit(spec.precision), "spins are kept in double or single, not in ",
                  name_of(spec.precision));
  TRELLIS_REQUIRE(spec.slots >= 1, "a spin glass needs at least one set of spins, not ", spec.slots);
  const Coord& L = lattice.extents();
  TRELLIS_REQUIRE(L[0] > 1 || L[1] > 1 || L[2] > 1, "a lattice of ", to_string(L), " has no bonds");
  TRELLIS_REQUIRE(lattice.geometry().boundary() == periodic_boundary,
                  "a spin glass takes periodic lattices only");
}

/// Counts the bonds from this rank to others.
int64_t bonds_between(const Coord& extents, const Coord& grid) {
  Coord local;
  for (int mu = 0; mu < Nd; ++mu) local[mu] = extents[mu] / grid[mu];
  int64_t bonds = 0;
  for (int mu = 0; mu < 3; ++mu)
    if (grid[mu] > 1) bonds += product(local) / local[mu];
  return bonds;
}
}  // namespace

Coord choose_spin_grid(const Coord& extents, int ranks) {
  const std::vector<Coord> grids = legal_process_grids(extents, ranks, 1, LocalExtents::any);
  TRELLIS_REQUIRE(!grids.empty(), "no grid of ", ranks, " ranks divides the lattice ", to_string(extents),
                  " (x, y, z, samples)");
  return *std::min_element(grids.begin(), grids.end(), [&](const Coord& a, const Coord& b) {
    return bonds_between(extents, a) < bonds_between(extents, b);
  });
}

SpinGlass::SpinGlass(LatticePtr lattice, const SpinGlassSpec& spec)
    : lattice_{std::move(lattice)}, spec_{spec} {
  require_legal(*lattice_, spec);
  for (int parity = 0; parity < 2; ++parity)
    spins_[parity] = std::make_unique<SiteField>(lattice_, spin_spec(spec, parity));
  tables_ = std::make_unique<SpinTables>(spins_[0]->layout_ptr(), spec.backend);
  couplings_ = std::make_unique<BondCouplings>(*spins_[0], *tables_);
  if (tables_->has_ghosts())
    for (int parity = 0; parity < 2; ++parity)
      halos_[parity] = std::make_unique<HaloExchange>(*spins_[parity], tables_->ghosts_of(parity));
  std::vector<double> up(3 * size_t(lattice_->geometry().local_volume()), 0.0);
  for (size_t i = 2; i < up.size(); i += 3) up[i] = 1;
  for (int slot = 0; slot < spec.slots; ++slot) set_spins(up.data(), slot);
}

size_t SpinGlass::bytes() const {
  const size_t sites = size_t(lattice_->geometry().local_volume());
  return spins_[0]->bytes() + spins_[1]->bytes() +
         (couplings_->are_signs() ? sites : 3 * sites * element_bytes(spec_.precision));
}

void SpinGlass::draw_all_couplings(CouplingKind kind, uint64_t seed, uint64_t stream) {
  const RandomKey key = random_key(seed, stream);
  couplings_->set([&](int64_t site) { return draw_couplings(kind, key, site); },
                  kind != CouplingKind::gaussian);
}

void SpinGlass::set_couplings(const double* canonical, bool may_be_signs) {
  const Geometry& geometry = lattice_->geometry();
  couplings_->set(
      [&](int64_t site) {
        const Coord local = geometry.to_local(site_coord(site, geometry.lattice()));
        const double* J = canonical + 3 * site_index(local, geometry.local());
        return std::array<double, 3>{J[0], J[1], J[2]};
      },
      may_be_signs);
}

void SpinGlass::randomise(uint64_t seed, uint64_t stream) {
  const RandomKey key = random_key(seed, stream);
  const int W = lanes();
  for (int parity = 0; parity < 2; ++parity) {
    const std::vector<int64_t> sites = global_sites(tables_->layout(), parity);
    on_host(*spins_[parity], [&](SiteField& field) {
      for (size_t i = 0; i < sites.size(); ++i) {
        const SiteRandom<double> random(key, RandomPurpose::spin_start, 0, uint64_t(sites[i]));
        for (int slot = 0; slot < slots(); ++slot) {
          const std::array<double, 2> u = random.uniform_pair(uint32_t(slot));
          const double z = 2 * u[0] - 1, across = std::sqrt(std::fma(-z, z, 1.0));
          const SinCos<double> angle = sin_cos_2pi(u[1]);
          const double S[3] = {across * angle.cos, across * angle.sin, z};
          field.set_site({parity, int(i) / W, int(i) % W}, slot, S);
        }
      }
    });
  }
}

void SpinGlass::set_spins(const double* canonical, int slot) {
  TRELLIS_REQUIRE(slot >= 0 && slot < slots(), "slot ", slot, " of ", slots());
  for (int parity = 0; parity < 2; ++parity)
    on_host(*spins_[parity], [&](SiteField& field) { field.from_canonical(canonical, slot); });
}

void SpinGlass::spins_to_canonical(double* canonical, int slot) const {
  TRELLIS_REQUIRE(slot >= 0 && slot < slots(), "slot ", slot, " of ", slots());
  for (int parity = 0; parity < 2; ++parity)
    on_host(std::as_const(*spins_[parity]),
            [&](const SiteField& field) { field.to_canonical(canonical, slot); });
}

SpinCall SpinGlass::call(int parity) const {
  SpinCall call;
  call.spins = spins_[parity]->raw(parity);
  call.others = spins_[1 - parity]->raw(1 - parity);
  if (halos_[1 - parity]) call.ghosts = halos_[1 - parity]->ghosts();
  call.slots = slots();
  tables_->set_tables(call, parity);
  couplings_->set_couplings(call, parity);
  return call;
}

void SpinGlass::update_ghosts(int parity) const {
  if (halos_[parity]) halos_[parity]->exchange(*spins_[parity]);
}

/// Calls launch(call, has_ghosts, blocks) with inner blocks while the ghosts travel, then with those on the
/// border.
template <class Launch>
void SpinGlass::half_sweep(int parity, const Launch& launch) const {
  const SpinCall here = call(parity);
  HaloExchange* halo = halos_[1 - parity].get();
  if (halo == nullptr) return launch(here, false, tables_->all(parity));
  halo->start(*spins_[1 - parity]);
  launch(here, false, tables_->inner(parity));
  halo->finish();
  launch(here, true, tables_->border(parity));
}

void SpinGlass::heat_bath(const std::vector<double>& betas, uint64_t seed, uint64_t stream, uint32_t number) {
  TRELLIS_REQUIRE(betas.size() == size_t(slots()), betas.size(), " inverse temperatures for ", slots(),
                  " sets of spins");
  for (const double beta : betas)
    TRELLIS_REQUIRE(beta >= 0 && std::isfinite(beta), "inverse temperature ", beta,
                    " is negative or not finite");
  stop_together(lattice_->communicator());
  const KernelTable<double> table(betas, spec_.backend);
  for (int parity = 0; parity < 2; ++parity)
    half_sweep(parity, [&](const SpinCall& spins, bool has_ghosts, const SiteRange& range) {
      const SpinHeatBathCall call{spins, table.data(), tables_->sites(parity), random_key(seed, stream),
                                  number};
      dispatch_unquantised(spec_.backend, spec_.precision, lanes(), [&]<class Layout, class Storage>() {
        launch_spin_heat_bath<Layout, Storage>(call, has_ghosts, range);
      });
    });
}

void SpinGlass::over_relax(int sweeps, int sweeps_per_pass) {
  TRELLIS_REQUIRE(sweeps >= 0, sweeps, " sweeps");
  TRELLIS_REQUIRE(sweeps_per_pass >= 0, sweeps_per_pass, " sweeps in a pass; 0 chooses");
  const int together = sweeps_of_pass(sweeps_per_pass);
  for (int done = 0; done < sweeps;) {
    stop_together(lattice_->communicator());
    const int now = std::min(together, sweeps - done);
    if (now > 1)
      over_relax_together(now);
    else
      over_relax_separately();
    done += now;
  }
}

namespace {
/// From this size on several sweeps a pass are faster than single ones (doc/measurements/spin_glass.md).
constexpr size_t bytes_of_passes = size_t(4) << 20;
constexpr int usual_sweeps_of_pass = 4;
constexpr size_t bytes_under_way = size_t(3) << 19;
}  // namespace

int SpinGlass::sweeps_of_pass(int wished) const {
  if (tables_->has_ghosts()) return 1;
  int sweeps = wished;
  const bool are_large = bytes() / size_t(tables_->samples()) > bytes_of_passes;
  if (wished == 0) sweeps = are_large && launches_can_be_cut(spec_.backend) ? usual_sweeps_of_pass : 1;
  while (sweeps > 1 && std::min(tables_->planes(), tables_->rows()) < planes_of_pass(2 * sweeps)) --sweeps;
  return sweeps;
}

void SpinGlass::over_relax_separately() {
  for (int parity = 0; parity < 2; ++parity)
    half_sweep(parity, [&](const SpinCall& spins, bool has_ghosts, const SiteRange& range) {
      dispatch_unquantised(spec_.backend, spec_.precision, lanes(), [&]<class Layout, class Storage>() {
        launch_over_relaxation<Layout, Storage>(spins, has_ghosts, range);
      });
    });
}

/// Returns as many rows as leave the planes under way in a core's second cache.
int SpinGlass::rows_of_strip(int sweeps) const {
  const int half_sweeps = 2 * sweeps, planes_under_way = half_sweeps + 2;
  const size_t row =
      bytes() / size_t(tables_->samples_of_lane()) / size_t(tables_->planes() * tables_->rows());
  const size_t rows = bytes_under_way / (size_t(planes_under_way) * std::max<size_t>(row, 1));
  return std::clamp(int(std::min<size_t>(rows, 1 << 20)) - half_sweeps, half_sweeps, tables_->rows());
}

/// @pre there are no ghosts
void SpinGlass::over_relax_together(int sweeps) {
  const SpinCall calls[2] = {call(0), call(1)};
  const int width = rows_of_strip(sweeps);
  dispatch_unquantised(spec_.backend, spec_.precision, lanes(), [&]<class Layout, class Storage>() {
    for (int sample = 0; sample < tables_->samples_of_lane(); ++sample)
      for_each_strip_of_pass(tables_->planes(), tables_->rows(), width, 2 * sweeps,
                             [&](int half, int plane, int first, int end) {
                               const int parity = half % 2;
                               launch_over_relaxation<Layout, Storage>(
                                   calls[parity], false,
                                   tables_->rows_of_plane(parity, sample, plane, first, end));
                             });
  });
}

}  // namespace trellis
