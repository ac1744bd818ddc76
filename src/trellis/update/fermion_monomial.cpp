#include "trellis/update/fermion_monomial.hpp"

#include "trellis/gauge/force.hpp"
#include "trellis/kernels/gauge/momentum.hpp"

namespace trellis {

void FermionMonomial::add_force(AlgebraField& force, const GaugeField& U, double coefficient) {
  add_forces(force, {this}, U, coefficient);
}

void add_forces(AlgebraField& force, const std::vector<FermionMonomial*>& monomials, const GaugeField& U,
                double coefficient) {
  SmearedLinks& links = *monomials.front()->links();
  const GaugeField& V = links.at_force(U);
  LinkDerivative& G = links.workspace();
  for (FermionMonomial* monomial : monomials) monomial->add_derivative(G, V, 1.0);
  links.pull_back(G);
  PartCost& cost = monomials.front()->costs()[Part::fermion_force];
  const PartTimer timer(cost);
  add_force(force, G, U, coefficient);
  cost.flops += double(U.lattice().volume()) * projection_cost.flops;
  cost.bytes += double(U.lattice().volume()) * projection_cost.bytes;
}

}  // namespace trellis
