#pragma once
/// This is a pure-gauge Markov chain with the Wilson plaquette action: Cabibbo-Marinari pseudo heat bath
/// (Kennedy-Pendleton) and over-relaxation. The links after an update are a function of the links before and
/// of (seed, stream, trajectory): they have the same bits for every process grid, thread count and lane
/// count, and after any interruption.
#include <cstdint>

#include "trellis/field/gauge_field.hpp"

namespace trellis {

struct HeatbathParams {
  double beta = 6.0;              ///< it is any value >= 0
  int heatbath_sweeps = 1;        ///< an update has so many, 0 .. 4095
  int overrelaxation_sweeps = 0;  ///< an update has so many after the heat-bath sweeps
  /// An update can be interrupted from so many sweeps times sites of a rank on (half a second of a core), and
  /// on a GPU from a hundred times as many: the copy of the links that this needs costs a tenth of a sweep.
  int64_t least_interruptible = int64_t(1) << 19;
};

/// It sweeps over all links: for each direction the even, then the odd sites.
class Heatbath {
 public:
  /// @pre beta >= 0 and finite, sweeps in range
  explicit Heatbath(const HeatbathParams& params);

  /// Makes one update, number `trajectory` of the chain: the heat-bath sweeps, the over-relaxation sweeps,
  /// then every link is brought back to SU(3). It stops before it begins; a long one (least_interruptible)
  /// also between half sweeps, and then leaves U as it was. Collective.
  void update(GaugeField& U, uint64_t seed, uint64_t stream, uint32_t trajectory);

  const HeatbathParams& params() const { return params_; }
  /// Returns the flops of one update at a site, counted as in kernels/gauge/heatbath.hpp.
  double flops_per_site() const;

 private:
  HeatbathParams params_;
};

void heatbath_update(GaugeField& U, const HeatbathParams& params, uint64_t seed, uint64_t stream,
                     uint32_t trajectory);

/// Does one heat-bath sweep. `sweep` counts those of a trajectory, 0 .. 4095. The links are not
/// re-unitarised. With may_stop it may end between half sweeps.
void heatbath_sweep(GaugeField& U, double beta, uint64_t seed, uint64_t stream, uint32_t trajectory,
                    uint32_t sweep, bool may_stop = true);
/// Does one over-relaxation sweep, which keeps the action to rounding. The links are not re-unitarised.
void overrelaxation_sweep(GaugeField& U, bool may_stop = true);

}  // namespace trellis
