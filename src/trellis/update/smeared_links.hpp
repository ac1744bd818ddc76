#pragma once
/// The smeared links that fermion monomials share: smeared once for each thin field.
#include "trellis/gauge/stout_chain.hpp"
#include "trellis/update/parts.hpp"

namespace trellis {

class SmearedLinks {
 public:
  /// @pre levels >= 0
  SmearedLinks(const StoutWeights& rho, int levels) : chain_{rho, levels} {}
  virtual ~SmearedLinks() = default;

  /// Fat links of U; smears only if U differs from the last one. Collective.
  virtual const GaugeField& at(const GaugeField& U);
  /// Grows with every new set of fat links.
  int64_t version() const { return version_; }
  /// G by the fat links becomes G by the thin ones.
  virtual void pull_back(LinkDerivative& G);
  /// A zero derivative of the right kind, kept from call to call. @pre at()
  LinkDerivative& workspace();

  PartCosts& costs() { return costs_; }

 private:
  StoutChain chain_;
  std::unique_ptr<LinkDerivative> workspace_;
  int64_t version_ = 0;
  PartCosts costs_;
};

using SmearedLinksPtr = std::shared_ptr<SmearedLinks>;

}  // namespace trellis
