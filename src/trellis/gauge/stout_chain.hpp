#pragma once
/// Stout-smeared links remember their levels here, so that a derivative by the smeared links can be carried
/// back to the thin ones. The bits are the same however the lattice is cut. Collective.
#include <vector>

#include "trellis/field/link_derivative.hpp"
#include "trellis/gauge/smearing.hpp"

namespace trellis {

class StoutChain {
 public:
  /// @pre levels >= 0, finite weights
  StoutChain(const StoutWeights& rho, int levels);
  StoutChain(double rho, int levels) : StoutChain(isotropic_stout(rho), levels) {}

  int levels() const { return levels_; }
  const StoutWeights& weights() const { return rho_; }
  /// Smears a copy of U.
  void set(const GaugeField& U);
  /// Returns the fat links. @pre set()
  const GaugeField& links() const { return fields_.back(); }
  const GaugeField& thin_links() const { return fields_.front(); }

  /// Carries G back: G by the fat links becomes G by the thin ones. @pre set(), G laid out like them
  void pull_back(LinkDerivative& G);

 private:
  StoutWeights rho_;
  int levels_;
  std::vector<GaugeField> fields_;       ///< there is one for each level; 0 is thin
  std::vector<LinkDerivative> staples_;  ///< each level has its C
  std::vector<LinkDerivative> work_;
};

}  // namespace trellis
