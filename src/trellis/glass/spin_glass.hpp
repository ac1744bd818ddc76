#pragma once
/// Classical Heisenberg spins have couplings on the bonds of a cubic lattice: H = - sum J S . S', |S| = 1
/// (doc/glass.md has the method and the sources).
///
/// The lattice is L_x x L_y x L_z x samples: the fourth direction counts samples of disorder, and no bond
/// leads from one to another. Slots are sets of spins that share the couplings: replicas and temperatures.
#include <memory>
#include <vector>

#include "trellis/field/halo/halo_exchange.hpp"
#include "trellis/glass/bond_couplings.hpp"
#include "trellis/glass/spin_tables.hpp"

namespace trellis {

struct SpinGlassSpec {
  Precision precision = Precision::single_precision;
  Backend backend{};
  int lanes = 0;  ///< 0 takes the vector width of this build
  int slots = 1;
};

/// Returns the grid of that many ranks with the fewest bonds between ranks: samples are cut first. Throws
/// BadArgument if no grid divides the lattice.
Coord choose_spin_grid(const Coord& extents, int ranks);

class SpinGlass {
 public:
  /// Makes spins that are all (0, 0, 1), and no couplings yet. Throws BadArgument for 16-bit storage, a
  /// lattice without bonds, one with edges, and less than one slot. Collective.
  SpinGlass(LatticePtr lattice, const SpinGlassSpec& spec);

  const Lattice& lattice() const { return *lattice_; }
  const LatticePtr& lattice_ptr() const { return lattice_; }
  const SpinGlassSpec& spec() const { return spec_; }
  int slots() const { return spec_.slots; }
  int samples() const { return lattice_->extents()[3]; }
  int lanes() const { return tables_->layout().lanes(); }
  const SpinTables& tables() const { return *tables_; }
  /// Returns the process's part of the spins and couplings in memory, in bytes.
  size_t bytes() const;

  BondCouplings& couplings() { return *couplings_; }
  const BondCouplings& couplings() const { return *couplings_; }
  /// Draws couplings of that kind (draw_couplings). Gaussian ones are reals; others are kept as signs.
  void draw_all_couplings(CouplingKind kind, uint64_t seed, uint64_t stream);
  /// Sets J to x+mu from [site of this rank, x fastest][3].
  void set_couplings(const double* canonical, bool may_be_signs = true);

  /// Sets independent spins, uniform on the sphere (doc/random_numbers.md, spin_start).
  void randomise(uint64_t seed, uint64_t stream);
  /// Sets the spins of one slot from [site of this rank, x fastest][3]; the next function returns them. Spins
  /// are not normalised.
  void set_spins(const double* canonical, int slot);
  void spins_to_canonical(double* canonical, int slot) const;

  /// Over-relaxes all even sites, then all odd ones, `sweeps` times. sweeps_per_pass says how many sweeps go
  /// through the lattice together, plane after plane; 0 chooses by size. The spins have the same bits for
  /// all. Where ranks cut x, y or z, or there are too few planes, sweeps go one after the other.
  void over_relax(int sweeps, int sweeps_per_pass = 0);
  /// Does a heat-bath sweep at these inverse temperatures, one a slot. `number` counts the run's sweeps.
  void heat_bath(const std::vector<double>& betas, uint64_t seed, uint64_t stream, uint32_t number);
  /// Says how many sweeps a pass has: `wished`, or fewer.
  int sweeps_of_pass(int wished) const;

  /// Returns a call for the sites of a parity and all around them, of which ghosts are valid after
  /// update_ghosts(1 - parity).
  SpinCall call(int parity) const;
  void update_ghosts(int parity) const;
  SiteField& spins(int parity) { return *spins_[parity]; }
  const SiteField& spins(int parity) const { return *spins_[parity]; }

 private:
  template <class Launch>
  void half_sweep(int parity, const Launch& launch) const;
  void over_relax_separately();
  void over_relax_together(int sweeps);
  int rows_of_strip(int sweeps) const;

  LatticePtr lattice_;
  SpinGlassSpec spec_;
  std::unique_ptr<SiteField> spins_[2];
  std::unique_ptr<SpinTables> tables_;
  std::unique_ptr<BondCouplings> couplings_;
  std::unique_ptr<HaloExchange> halos_[2];  ///< they are null where no ghosts are needed
};

}  // namespace trellis
