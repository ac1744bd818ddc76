#include "trellis/update/fermion_monomial.hpp"

#include "trellis/gauge/force.hpp"

namespace trellis {

void FermionMonomial::add_force(AlgebraField& force, const GaugeField& U, double coefficient) {
  add_forces(force, {this}, U, coefficient);
}

void add_forces(AlgebraField& force, const std::vector<FermionMonomial*>& monomials, const GaugeField& U,
                double coefficient) {
  SmearedLinks& links = *monomials.front()->links();
  const GaugeField& V = links.at(U);
  LinkDerivative& G = links.workspace();
  for (FermionMonomial* monomial : monomials) monomial->add_derivative(G, V, 1.0);
  links.pull_back(G);
  const PartTimer timer(monomials.front()->costs()[Part::fermion_force]);
  add_force(force, G, U, coefficient);
}

}  // namespace trellis
