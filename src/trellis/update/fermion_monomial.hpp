#pragma once
/// These monomials see the gauge field through smeared links. Their derivatives are added up before the chain
/// rule of the smearing, which is then done once for all that act at the same time.
#include "trellis/update/monomial.hpp"
#include "trellis/update/smeared_links.hpp"

namespace trellis {

class FermionMonomial : public Monomial {
 public:
  FermionMonomial(std::string name, SmearedLinksPtr links)
      : Monomial{std::move(name)}, links_{std::move(links)} {}

  const SmearedLinksPtr& links() const { return links_; }
  /// Adds coefficient times the derivative by the fat links V, which links() gave last, to G. Collective.
  virtual void add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) = 0;
  void add_force(AlgebraField& force, const GaugeField& U, double coefficient) override;

 private:
  SmearedLinksPtr links_;
};

/// Adds coefficient times the sum of the forces to `force`; the monomials share their links.
void add_forces(AlgebraField& force, const std::vector<FermionMonomial*>& monomials, const GaugeField& U,
                double coefficient);

}  // namespace trellis
