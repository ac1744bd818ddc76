#pragma once
/// The Wilson hopping term leads between the two parities, with halos, in one storage. Everything the
/// even-odd operators need is one call: out = first(x) + second(H in).
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "trellis/device/cpu/walk/output_tiles.hpp"
#include "trellis/device/cpu/walk/slice_walk.hpp"
#include "trellis/device/kernel_table.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/wilson_halo.hpp"
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/operator/wilson_params.hpp"

namespace trellis {

/// It says what to do with H in (see SiteTerm).
struct HopTask {
  SiteTerm x_term = SiteTerm::none, hop_term = SiteTerm::chiral_scalar;
  const SpinorField* x = nullptr;
  const SpinorField* clover = nullptr;  ///< it has 72 reals, this storage, the parity of out
  std::complex<double> x_scalar = 0.0, hop_scalar = 1.0;  ///< a + i b stands for a + i b gamma5
  double coefficient = 1.0;
  bool is_dagger = false;
  /// A thread of a GPU takes so many right-hand sides; with 0 the tuner chooses. No bit depends on it.
  int columns_per_thread = 0;
  /// It is called for each tile of output sites right after its hop, with the place in the cache where it
  /// lies, on several threads at once. It may be empty.
  std::function<void(const SiteRange&, const RawField&)> then;
  /// It is asked to do the hop and `then` in one launch, and returns false where it cannot. It may be empty.
  std::function<bool(const WilsonHopCall&, const SiteRange&)> together;
};

/// It sums |field|^2 of each right-hand side tile by tile while a hop writes the field, as a task's `then`.
class TileNorms {
 public:
  explicit TileNorms(const SpinorField& field);
  TileNorms(const TileNorms&) = delete;
  TileNorms& operator=(const TileNorms&) = delete;
  /// Several threads may call this at once.
  void add(const SiteRange& tile, const RawField& place);
  /// Sums over all ranks.
  Coefficients values() const;

 private:
  const SpinorField& field_;
  std::vector<ExactSum> sums_;
};

class HoppingTerm {
 public:
  HoppingTerm(const GaugeField& U, const WilsonParams& params, const KernelChoice& choice);

  /// Computes out (sites of `parity`) from in (sites of the other parity). Fields may be full or of one
  /// parity.
  /// @pre out and in are different storage, unless full.
  void apply(SpinorField& out, int parity, const SpinorField& in, const HopTask& task) const;
  /// Does the same, and returns |out|^2 of each right-hand side, summed tile by tile while out is in the
  /// cache.
  /// @pre out has one parity; task.then is empty
  Coefficients apply_norm2(SpinorField& out, int parity, const SpinorField& in, const HopTask& task) const;
  /// Computes middle (sites of 1 - parity) from in, then out (sites of `parity`) from middle, with the bits
  /// of apply() twice. Where the fields leave the caches, both hops may go through the lattice together, one
  /// time slice after the other (device/cpu/walk/slice_walk.hpp). On GPUs and where ranks split space the
  /// hops go one after the other, whatever `order` says.
  /// @param prepare fills the blocks of a range of `in` beforehand; may be empty
  void apply_twice(SpinorField& out, SpinorField& middle, int parity, const SpinorField& in,
                   const HopTask& to_middle, const HopTask& to_out,
                   const std::function<void(const SiteRange& sites)>& prepare = {},
                   PassOrder order = PassOrder::faster) const;

  const LatticePtr& lattice_ptr() const { return links_->lattice_ptr(); }
  const HopLinks& links() const { return *links_; }
  const KernelChoice& choice() const { return choice_; }
  /// Return the spec of the fields that it takes, and a zero field.
  FieldSpec field_spec(Subset subset, int rhs, int slices = 1) const;
  SpinorField make_field(Subset subset, int rhs, int slices = 1) const;
  double flops_per_site() const { return wilson_hop_flops; }
  /// Returns the must-move bytes per output site of one hop over `rhs` right-hand sides: 8 links, spinors in
  /// and out.
  double bytes_per_site(int rhs) const;
  /// Returns messages and launches of one hop of so many spinors a site, whose `then` runs so many kernels.
  Cost hop_cost(int slots, int kernels_then = 0) const;
  /// Returns the launches of a kernel in the `then` of a task of so many spinors a site: there are none on
  /// the CPU, where it is part of the hop.
  int launches_then(int slots) const;

 private:
  RawStencil stencil(int parity) const;
  /// Checks the fields and makes the call, without ghosts.
  WilsonHopCall call_of(const SpinorField& out, int parity, const SpinorField& in, const HopTask& task) const;
  /// @param call its working set: of what is read, from wherever it comes this time
  void launch(const WilsonHopCall& call, const SpinorField& out, int parity, const HopTask& task,
              const SiteRange& sites, OutputUse use = OutputUse::later) const;
  /// Computes all sites in the launch that packs the faces. `together` is not asked: `then` follows.
  void apply_in_one_launch(WilsonHopCall& call, WilsonHalo& exchange, SpinorField& out, int parity,
                           const SpinorField& in, const HopTask& task) const;
  /// Returns true where that is so: the halo says it, and before there is one the policy of exchanges.
  bool is_one_launch(int slots) const;
  WilsonHalo& halo(int rhs) const;
  KernelChoice choice_;
  std::shared_ptr<const HopLinks> links_;
  struct LegPhases {
    bool is_trivial = true, is_complex = false;
    double re[16] = {}, im[16] = {};
    double coefficient = 1.0;
  } phases_[8];
  /// The blocks of launches lie here in the order in which they are visited. Launches that cannot be cut take
  /// them in the order of the layout, from its tables.
  struct Walk {
    std::vector<int32_t> all, inner[2], border[2];  ///< inner and border have one for each parity
  };
  const Walk& walk(int slots) const;
  SiteTablesPtr tables_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<Walk>> walks_;
  mutable std::map<int, std::unique_ptr<WilsonHalo>> halos_;
};

}  // namespace trellis
