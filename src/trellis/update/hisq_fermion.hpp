#pragma once
/// Rational HISQ actions have m^2 - D_eo D_oe with fat and long links (doc/operators/hisq.md).
#include <map>

#include "trellis/gauge/hisq.hpp"
#include "trellis/update/smeared_links.hpp"
#include "trellis/update/staggered_fermion.hpp"

namespace trellis {

/// It has both levels of HISQ's links, smeared once for each thin field and shared by all flavours. at()
/// gives the thin links themselves. Flavours add their derivatives by fat and long links to sums(), and
/// pull_back() carries those of all flavours through both levels at once.
class HisqSmearing : public SmearedLinks {
 public:
  /// The force guards small eigenvalues by this cut (HisqLinks).
  explicit HisqSmearing(double cut = HisqLinks::default_cut);

  const GaugeField& at(const GaugeField& U) override;
  void pull_back(LinkDerivative& G) override;

  /// Returns links that at() updates in place. @pre at()
  StaggeredLinksPtr links(double epsilon);
  struct Sums {
    LinkDerivative of_fat, of_long;
    bool is_used = false;
  };
  /// Returns sums that are zero unless a flavour with this epsilon has added to them since the last
  /// pull_back(). @pre at()
  Sums& sums(double epsilon);

 private:
  double cut_;
  std::unique_ptr<HisqLinks> hisq_;
  std::map<double, std::shared_ptr<StaggeredLinks>> links_;
  std::map<double, Sums> sums_;
};

class HisqFermion : public StaggeredSquare {
 public:
  /// @pre mass != 0. `smearing` is also the links of the monomial.
  HisqFermion(std::shared_ptr<HisqSmearing> smearing, const StaggeredPhases& phases, double mass,
              double epsilon = 0);
  void set_links(const GaugeField& V, int64_t version) override;
  /// Adds into the sums of the smearing; G gets them in pull_back().
  void add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                      const std::vector<double>& c) override;

 private:
  std::shared_ptr<HisqSmearing> smearing_;
  double epsilon_;
};

}  // namespace trellis
