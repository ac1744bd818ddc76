#pragma once
/// These are the couplings J of a spin glass: one real for each bond, or one bit where all are +1 or -1.
#include <functional>

#include "trellis/algebra/random.hpp"
#include "trellis/field/halo/halo_exchange.hpp"
#include "trellis/glass/spin_tables.hpp"

namespace trellis {

enum class CouplingKind { gaussian, plus_minus, ferromagnet };
const char* name_of(CouplingKind kind);
CouplingKind coupling_kind_from_name(const std::string& name);  ///< it throws BadArgument

/// Returns J of the bonds from a site to x+mu, mu = 0, 1, 2. Gaussian ones have variance 1. They are a
/// function of seed, stream and site (doc/random_numbers.md, spin_couplings).
std::array<double, 3> draw_couplings(CouplingKind kind, RandomKey key, int64_t site);

class BondCouplings {
 public:
  /// Makes no couplings yet: all are 0. `like` are fields of spins, of which storage, layout and backend are
  /// taken.
  BondCouplings(const SiteField& like, const SpinTables& tables);

  /// Sets J of the bonds of a site to x+mu by couplings(global index). May they be signs, and are they all +1
  /// or -1, a byte a site is kept instead of three reals. Collective.
  void set(const std::function<std::array<double, 3>(int64_t)>& couplings, bool may_be_signs);
  /// Returns J of this rank's sites, [site, x fastest][3].
  std::vector<double> to_canonical() const;
  bool are_signs() const { return signs_[0].bytes() > 0; }

  void set_couplings(SpinCall& call, int parity) const;

 private:
  void pack_signs();
  void drop_reals();
  const SpinTables& tables_;
  LatticePtr lattice_;
  FieldSpec spec_;
  std::unique_ptr<SiteField> reals_[2];
  std::unique_ptr<HaloExchange> halos_[2];
  Memory signs_[2];
};

}  // namespace trellis
