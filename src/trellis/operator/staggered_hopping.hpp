#pragma once
/// The staggered hopping term leads between the two parities, with halos, in one storage: naive (one-site
/// hops) or improved (one- and three-site hops).
#include <map>
#include <memory>
#include <mutex>

#include "trellis/device/cpu/walk/slice_walk.hpp"
#include "trellis/device/kernel_table.hpp"
#include "trellis/field/vector_halo.hpp"
#include "trellis/kernels/dirac/staggered_hop.hpp"
#include "trellis/operator/staggered_phases.hpp"

namespace trellis {

/// It says whether links that lead to a site are kept beside its own (HopLinks). The bits are the same.
/// by_size keeps those of improved links of more than a nominal 32 MB, which come from memory in every hop:
/// the second copy costs room alone (lab/two_hops).
enum class BackLinks { by_size, none, kept };

/// The links are shared by staggered operators of all flavours, and copied in every storage that was asked
/// for.
class StaggeredLinks {
 public:
  /// Naive links are one field (thin or smeared); choice.link_reals is 18, or 12 for links in SU(3).
  explicit StaggeredLinks(const GaugeField& U, const KernelChoice& choice = {},
                          BackLinks back_links = BackLinks::by_size);
  /// Improved links give D = 1/2 [fat hops] + (long_coefficient / 2) [hops with long links over three sites].
  /// Long links that are unitary (HISQ) are stored as 14 reals, others (asqtad) with is_unitary = false as
  /// 18.
  StaggeredLinks(const GaugeField& fat, const GaugeField& long_links, double long_coefficient,
                 bool is_unitary = true, const KernelChoice& choice = {},
                 BackLinks back_links = BackLinks::by_size);

  /// Takes the same kind of links from other fields, in all storages (molecular dynamics).
  void update(const GaugeField& U);
  void update(const GaugeField& fat, const GaugeField& long_links);

  bool is_improved() const { return long_ != nullptr; }
  double long_coefficient() const { return long_coefficient_; }
  const LatticePtr& lattice_ptr() const { return near_->lattice_ptr(); }
  const KernelChoice& choice() const { return choice_; }
  std::shared_ptr<const HopLinks> near(Precision precision) const;
  std::shared_ptr<const HopLinks> far(Precision precision) const;  ///< it is null for naive links
  /// Returns the neighbours over distance 1 or 3 in the layout of a storage.
  HopStencilPtr stencil(Precision precision, int distance) const;

 private:
  int lanes(Precision precision) const;
  int far_reals() const { return is_unitary_ ? 14 : 18; }
  bool keeps_back_links(Precision precision) const;
  std::shared_ptr<GaugeField> near_, long_;
  double long_coefficient_ = 0;
  bool is_unitary_ = true;
  KernelChoice choice_;
  BackLinks back_links_ = BackLinks::by_size;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Precision, int>, std::shared_ptr<HopLinks>> stored_;
  mutable std::map<std::pair<Precision, int>, HopStencilPtr> stencils_;
};
using StaggeredLinksPtr = std::shared_ptr<const StaggeredLinks>;

/// It says what to do with H in: out = x_scalar x + hop_scalar H in. x may be null.
struct StaggeredHopTask {
  double hop_scalar = 1.0;
  const SpinorField* x = nullptr;
  double x_scalar = 0.0;
};

/// These are the factors of one- and three-site hops.
struct HopTables {
  std::shared_ptr<const PhaseTable> near, far;
};

class StaggeredHopping {
 public:
  StaggeredHopping(StaggeredLinksPtr links, const StaggeredPhases& phases, Precision precision);

  /// Computes out (sites of `parity`) = a x + b H in, H = 2 D, from the sites of the other parity of `in`; x
  /// may be null. Fields may be full or of one parity. @pre out and in are different storage, unless full.
  void apply(SpinorField& out, int parity, const SpinorField& in, double b, const SpinorField* x = nullptr,
             double a = 0.0) const;
  /// Computes middle (sites of 1 - parity) from in, then out (sites of `parity`) from middle, with the bits
  /// of apply() twice; perhaps in time slices, where HoppingTerm::apply_twice() may.
  void apply_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                   const StaggeredHopTask& to_middle, const StaggeredHopTask& to_out,
                   PassOrder order = PassOrder::faster) const;
  /// Does the same, and returns Re x^dagger out per right-hand side with the x of to_out, global exact sums.
  /// @pre sums_energies(rhs)
  std::vector<double> apply_twice_with_energy(SpinorField& out, SpinorField& middle, int parity,
                                              const SpinorField& in, const StaggeredHopTask& to_middle,
                                              const StaggeredHopTask& to_out) const;
  /// Tells whether hops over so many right-hand sides can sum energies.
  bool sums_energies(int rhs) const;
  /// Does the same with other factors on the legs (derivatives of D).
  void apply(const HopTables& factors, SpinorField& out, int parity, const SpinorField& in, double b) const;
  /// Makes tables for apply(): factors of the one-site hops, and of the three-site hops (improved links).
  HopTables make_tables(const HopFactors& near, const HopFactors& far) const;

  /// Returns the stencil of a distance and the sites of a parity, without and with ghosts, where kernels read
  /// them.
  RawHopStencil raw_stencil(int distance, int parity) const;
  SiteRange inner_sites(int distance, int parity) const;
  SiteRange border_sites(int distance, int parity) const;

  const StaggeredLinksPtr& links() const { return links_; }
  const StaggeredPhases& phases() const { return phases_; }
  const HopTables& tables() const { return tables_; }
  Precision precision() const { return precision_; }
  const Lattice& lattice() const { return *links_->lattice_ptr(); }
  FieldSpec field_spec(Subset subset, int rhs) const;
  SpinorField make_field(Subset subset, int rhs) const;
  double flops_per_site() const { return links_->is_improved() ? improved_hop_flops : staggered_hop_flops; }
  /// Returns the must-move bytes per output site of one hop over `rhs` right-hand sides: links, vectors in
  /// and out.
  double bytes_per_site(int rhs) const;
  /// Returns the messages and launches of one hop to the sites of a parity.
  Cost hop_cost(int parity, int rhs) const;

 private:
  /// Checks the fields and makes the call, without ghosts.
  StaggeredHopCall call_of(const HopTables& tables, const SpinorField& out, int parity, const SpinorField& in,
                           const StaggeredHopTask& task, ExactSum* energies) const;
  void launch(const StaggeredHopCall& call, const SiteRange& sites) const;
  void run(const HopTables& tables, SpinorField& out, int parity, const SpinorField& in,
           const StaggeredHopTask& task, ExactSum* energies) const;
  void run_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                 const StaggeredHopTask& to_middle, const StaggeredHopTask& to_out, ExactSum* energies,
                 PassOrder order) const;
  HopPart part(int distance, int parity, const PhaseTable& phases) const;
  RawHopStencil stencil(int distance, int parity) const;
  /// Lists those over one site and, with improved links, over three.
  std::vector<HopStencilPtr> halo_stencils() const;
  /// Returns the halo of one hop. @param parity of the sites that the hop leads to
  VectorHalo& halo(int parity, int rhs) const;
  void set_ghosts(StaggeredHopCall& call, const VectorHalo& halo) const;
  /// Calls f(links) with those of each hop.
  template <class F>
  auto with_hop_links(const F& f) const;
  void start(VectorHalo& halo, const SpinorField& in) const;
  /// Computes all sites in the launch that packs the faces.
  void run_in_one_launch(StaggeredHopCall& call, VectorHalo& faces, int parity, const SpinorField& in) const;
  /// Returns true where that is so: the halo says it, and before there is one the policy of exchanges.
  bool is_one_launch(int parity, int rhs) const;
  StaggeredLinksPtr links_;
  StaggeredPhases phases_;
  Precision precision_;
  HopTables tables_;
  mutable std::mutex mutex_;
  mutable std::map<std::array<int, 2>, std::unique_ptr<VectorHalo>> halos_;
  /// Kernels take these tables of the stencils, by distance and parity.
  struct StencilTables {
    KernelTable<int32_t> neighbours, inner, border;
  };
  StencilTables& stencil_tables(int distance, int parity) const;
  mutable std::map<std::array<int, 2>, StencilTables> stencil_tables_;
};

}  // namespace trellis
