#include "trellis/update/rational_monomial.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

RationalMonomial::RationalMonomial(std::string name, SmearedLinksPtr links, SquaredOperatorPtr fermion,
                                   const RationalParams& params)
    : FermionMonomial{std::move(name), std::move(links)}, fermion_{std::move(fermion)}, params_{params} {
  TRELLIS_REQUIRE(params.pseudofermions >= 1, "pseudofermions: ", params.pseudofermions);
}

void RationalMonomial::refresh(const GaugeField& U, const TrajectoryKey& key) {
  const GaugeField& V = links()->at(U);  // this comes before version()
  fermion_->set_links(V, links()->version());
  SpinorField eta = fermion_->op()->make_field(params_.pseudofermions);
  set_normal(eta, key, params_.id);
  if (!phi_ || phi_->spec() != eta.spec() || phi_->lattice_ptr() != eta.lattice_ptr()) {
    x_.clear();
    phi_ = std::make_unique<SpinorField>(SpinorField::like(eta));
  }
  apply_rational(*phi_, x_, *fermion_, params_.heat_bath, eta, *this);
  drawn_action_ = norm2(eta);
  drawn_version_ = links()->version();
}

double RationalMonomial::action(const GaugeField& U) {
  TRELLIS_REQUIRE(phi_ != nullptr, "monomial ", name(), " has no pseudofermions yet");
  const GaugeField& V = links()->at(U);
  if (links()->version() == drawn_version_) return drawn_action_;
  fermion_->set_links(V, links()->version());
  solve_shifts(x_, *fermion_, params_.metropolis, *phi_, *this);
  const PartTimer timer(costs()[Part::action]);
  const RationalFunction& r = params_.metropolis.function;
  double sum = r.constant * norm2(*phi_);
  for (size_t k = 0; k < x_.size(); ++k) sum += r.residues[k] * dot(*phi_, x_[k]).real();
  return sum;
}

/// Adds d[phi^dagger r(A) phi] = - sum_k residues[k] x_k^dagger dA x_k with x_k = (A + shifts[k])^-1 phi.
void RationalMonomial::add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) {
  TRELLIS_REQUIRE(phi_ != nullptr, "monomial ", name(), " has no pseudofermions yet");
  fermion_->set_links(V, links()->version());
  solve_shifts(x_, *fermion_, params_.dynamics, *phi_, *this);
  const PartTimer timer(costs()[Part::fermion_force]);
  std::vector<const SpinorField*> X;
  std::vector<double> c;
  for (size_t k = 0; k < x_.size(); ++k) {
    X.push_back(&x_[k]);
    c.push_back(-coefficient * params_.dynamics.function.residues[k]);
  }
  fermion_->add_derivative(G, X, c);
  const int fields = int(x_.size()) * params_.pseudofermions;
  costs()[Part::fermion_force].flops += fermion_->derivative_flops(fields);
  costs()[Part::fermion_force].bytes += fermion_->derivative_bytes(fields);
}

}  // namespace trellis
