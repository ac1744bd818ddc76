#pragma once
/// This is the partially conserved axial current of domain-wall fermions with the pion at the source. With
/// q_s = -1 on slices below Ls/2 and +1 above, Y = B psi + c5 eta (eta: the walls of the source) and Gamma_w
/// as in conserved_current.hpp, inserting the axial current is solving D5 phi = Gamma_w q Y, and D5 is
/// hermitian up to gamma5 R and D_- in such a way that no solve is needed where the sink is the source:
///
///   A_w = sum over columns of tr[gamma5 phi(source)] = 1/(b5 + c5) sum_{x,s} Y_{Ls-1-s}^dagger gamma5
///   (Gamma_w q Y)_s
///
/// A_4(t), w = 1 on the temporal links between t and t + 1, obeys on every field, to the precision of the
/// solve (for a point source; R. C. Brower, H. Neff, K. Orginos, Comput. Phys. Commun. 220 (2017) 1 for the
/// Moebius form)
///
///   A_4(t) - A_4(t-1) = 2 m_f pion(t) + 2 midpoint(t) - 2 delta_{t,0} Re tr q(source, source).
#include <vector>

#include "trellis/measure/conserved_current.hpp"

namespace trellis {

class AxialCurrent {
 public:
  /// @pre matrix in double, with an even Ls and one b5 and c5 for all slices
  explicit AxialCurrent(const DomainWallMatrixPtr& matrix);
  /// Adds the solutions psi of columns first, first + 1, ... of `source`.
  void add(const SpinorField& psi, const SpinorField& source, int first);
  /// Returns A_4(t), t from source_time, of what was added. Collective.
  std::vector<double> correlator(int source_time) const;

 private:
  DomainWallMatrixPtr matrix_;
  ConservedCurrent links_[2];      ///< they are temporal links that begin at even and odd times
  std::vector<ExactSum> sums_[2];  ///< they are [time] of this rank
};

}  // namespace trellis
