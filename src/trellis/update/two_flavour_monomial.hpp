#pragma once
/// Two flavours have det(A) with A = S^dagger S, split by shifts (M. Hasenbusch, Phys. Lett. B519 (2001) 177;
/// M. Hasenbusch, K. Jansen, Nucl. Phys. B659 (2003) 299):
///
///   det A = det(A + s_1) prod_k det[(A + s_{k+1}) / (A + s_k)] ...,   S = phi^dagger (A + t) / (A + s) phi.
///
/// The draws are exact for any S: with independent normal eta_j
///   phi = S^dagger eta_1 + sqrt(s) eta_2                                      has <phi phi^dagger> = A + s,
///   phi = (A + t)^-1 (A eta_1 + sqrt(s + t) S^dagger eta_2 + sqrt(s t) eta_3)   (A + s) / (A + t).
#include <optional>

#include "trellis/update/fermion_monomial.hpp"
#include "trellis/update/pseudofermions.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

struct TwoFlavourParams {
  double shift = 0;                 ///< it is s
  std::optional<double> numerator;  ///< it is t > s; without it S = phi^dagger (A + s)^-1 phi
  double dynamics_tolerance = 1e-8, metropolis_tolerance = 1e-10;
  int max_iterations = 20000;
  uint32_t id = 0;  ///< it keys the random numbers and differs for each monomial of a run
  Precision dynamics_precision = Precision::double_precision;  ///< it is as in RationalSolve
};

class TwoFlavourMonomial : public FermionMonomial {
 public:
  /// @pre 0 <= s < t
  TwoFlavourMonomial(std::string name, SmearedLinksPtr links, SquaredOperatorPtr fermion,
                     const TwoFlavourParams& params);

  void refresh(const GaugeField& U, const TrajectoryKey& key) override;
  double action(const GaugeField& U) override;
  void add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) override;

 private:
  /// Computes x = (A + shift)^-1 b from x = 0.
  void solve(SpinorField& x, double shift, const SpinorField& b, double tolerance);
  SolveReport run_solver(SpinorField& x, double shift, const SpinorField& b, double tolerance);
  SquaredOperatorPtr fermion_;
  TwoFlavourParams params_;
  std::unique_ptr<SpinorField> phi_;
};

}  // namespace trellis
