#pragma once
/// Pseudofermions and rational functions give det[A]^power (A. D. Kennedy, I. Horvath, S. Sint, Nucl. Phys.
/// B (Proc. Suppl.) 73 (1999) 834; M. A. Clark, A. D. Kennedy, Phys. Rev. Lett. 98 (2007) 051601):
///
///   S = sum_j phi_j^dagger A^(-power / n) phi_j,  j = 1 .. n,   phi_j = A^(power / 2n) eta_j.
///
/// There are different functions and residuals for the heat bath, the molecular dynamics and the accept step.
#include "trellis/update/fermion_monomial.hpp"
#include "trellis/update/pseudofermions.hpp"
#include "trellis/update/squared_operator.hpp"

namespace trellis {

struct RationalParams {
  RationalSolve heat_bath;  ///< it approximates x^(power / 2n)
  RationalSolve dynamics;   ///< it approximates x^(-power / n)
  RationalSolve metropolis;
  int pseudofermions = 1;  ///< it is n
  uint32_t id = 0;         ///< it keys the random numbers and differs for each monomial of a run
};

class RationalMonomial : public FermionMonomial {
 public:
  /// @pre n >= 1
  RationalMonomial(std::string name, SmearedLinksPtr links, SquaredOperatorPtr fermion,
                   const RationalParams& params);

  void refresh(const GaugeField& U, const TrajectoryKey& key) override;
  double action(const GaugeField& U) override;
  void add_derivative(LinkDerivative& G, const GaugeField& V, double coefficient) override;

 private:
  SquaredOperatorPtr fermion_;
  RationalParams params_;
  std::unique_ptr<SpinorField> phi_;
  std::vector<SpinorField> x_;
  /// At the links where phi was drawn the action is |eta|^2.
  double drawn_action_ = 0;
  int64_t drawn_version_ = -1;
};

}  // namespace trellis
