#pragma once
/// It has A = S^dagger S of the even-odd Wilson-clover operator S = A_ee - 1/4 H_eo A_oo^-1 H_oe, for
/// pseudofermion actions, and the determinant of A_oo that goes with it.
#include <map>

#include "trellis/operator/wilson.hpp"
#include "trellis/operator/wilson_derivative.hpp"
#include "trellis/update/factor_solver.hpp"
#include "trellis/update/fermion_monomial.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

class WilsonFermion : public SquaredOperator {
 public:
  explicit WilsonFermion(const WilsonParams& params) : params_{params}, derivative_{params} {}
  /// Solves A x = b with multigrid.
  WilsonFermion(const WilsonParams& params, const FactorSolverParams& solver)
      : params_{params}, derivative_{params}, factor_solver_{std::make_unique<FactorSolver>(solver)} {}

  void set_links(const GaugeField& V, int64_t version) override;
  LinearOperatorPtr op() const override;
  LinearOperatorPtr converted_op(Precision precision) override;
  void begin_trajectory() override;
  std::optional<SolveReport> solve_by_factors(SpinorField& x, const SpinorField& b,
                                              const FactorSolve& how) override;
  /// Adds delta(X^dagger A X) = 2 Re Y^dagger dD X with Y_e = S X_e, both extended to the odd sites so that
  /// (D X)_o = 0 and (D^dagger Y)_o = 0.
  void add_derivative(LinkDerivative& G, const std::vector<const SpinorField*>& X,
                      const std::vector<double>& c) override;
  double derivative_flops(int fields) const override;
  double derivative_bytes(int fields) const override;

  const WilsonParams& params() const { return params_; }
  const LinearOperator& root() const override { return *schur_; }

 private:
  WilsonParams params_;
  WilsonLinkDerivative derivative_;
  std::unique_ptr<GaugeField> V_;
  int64_t version_ = -1;
  WilsonMatrixPtr matrix_;
  std::shared_ptr<WilsonSchur> schur_;
  LinearOperatorPtr normal_;
  std::map<Precision, LinearOperatorPtr> converted_;
  std::unique_ptr<FactorSolver> factor_solver_;  ///< null takes conjugate gradients
};

/// It is S = -n_f log det A_oo; with a twisted mass it is -(n_f / 2) log det(A_oo^2 + mu^2), where A is
/// without it. Collective.
class CloverDeterminantMonomial : public FermionMonomial {
 public:
  CloverDeterminantMonomial(std::string name, SmearedLinksPtr links, const WilsonParams& params, double n_f)
      : FermionMonomial{std::move(name), std::move(links)}, params_{params}, derivative_{params}, n_f_{n_f} {}
  void refresh(const GaugeField&, const TrajectoryKey&) override {}
  double action(const GaugeField& U) override;
  void add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) override;

 private:
  WilsonParams params_;
  WilsonLinkDerivative derivative_;
  double n_f_;
};

}  // namespace trellis
