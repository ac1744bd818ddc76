#pragma once
/// Fermion monomials share smeared links: they are smeared once for each thin field.
#include "trellis/field/single_precision.hpp"
#include "trellis/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"
#include "trellis/update/parts.hpp"

namespace trellis {

class SmearedLinks {
 public:
  /// Computes smearing and its chain rule in the precision `dynamics` in forces, double or single.
  /// @pre levels >= 0
  SmearedLinks(const StoutWeights& rho, int levels, Precision dynamics = Precision::double_precision);
  virtual ~SmearedLinks() = default;

  /// Returns the fat links of U; smears only if U differs from the last one. Collective.
  virtual const GaugeField& at(const GaugeField& U);
  /// Does the same for forces: where these are in single precision, the fat links are smeared in it, and
  /// widened.
  const GaugeField& at_force(const GaugeField& U);
  /// Returns a number of the fat links that at() or at_force() gave last: every new set has a new one.
  int64_t version() const { return version_; }
  /// Turns G by the fat links into G by the thin ones. @pre at_force()
  virtual void pull_back(LinkDerivative& G);
  /// Returns a zero derivative of the right kind, kept from call to call. @pre at() or at_force()
  LinkDerivative& workspace();

  PartCosts& costs() { return costs_; }
  /// Counts links of all ranks at which a guard acted in pull_back() (HISQ's), since the last reset.
  int64_t& guarded_links() { return guarded_links_; }

 private:
  /// This belongs to forces in single precision.
  struct Single {
    SinglePrecisionMap map;
    GaugeField thin;      ///< it is in single precision
    StoutChain chain;     ///< it works in single precision
    GaugeField fat;       ///< they are in double
    LinkDerivative G;     ///< it is in single precision
    int64_t version = 0;  ///< it is that of `fat`
    Single(const GaugeField& U, const StoutChain& like)
        : map{U},
          thin{map.make_single(U)},
          chain{like.weights(), like.levels()},
          fat{GaugeField::like(U)},
          G{thin} {}
  };
  void count(const KernelCost& cost, double volume, Precision precision);

  StoutChain chain_;
  Precision dynamics_;
  std::unique_ptr<Single> single_;
  std::unique_ptr<LinkDerivative> workspace_;
  const GaugeField* current_ = nullptr;  ///< these fat links were given last
  int64_t version_ = 0, last_version_ = 0, chain_version_ = 0;
  PartCosts costs_;
  int64_t guarded_links_ = 0;
};

using SmearedLinksPtr = std::shared_ptr<SmearedLinks>;

}  // namespace trellis
