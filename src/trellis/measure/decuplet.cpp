/// The decuplet has the form `full` here.
#include "trellis/measure/baryon_sums.hpp"

namespace trellis {

namespace {
/// Returns (1 + parity gamma_t)/2 (delta_ij - gamma_i gamma_j / 3).
SpinMatrix spin_three_halves(int parity, int i, int j) {
  const SpinMatrix P = parity_projector(parity), pair = spin_matrix(gamma_mu(i) * gamma_mu(j));
  SpinMatrix r{};
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 4; ++column) {
      if (i == j) r[row][column] = P[row][column];
      for (size_t k = 0; k < 4; ++k) r[row][column] -= P[row][k] * pair[k][column] / 3.0;
    }
  return r;
}
}  // namespace

CorrelatorTable decuplet_correlators(const BaryonQuarks& quarks, const std::vector<std::string>& baryons,
                                     const Momenta& momenta, int parity, const Insertion* insertion) {
  TRELLIS_REQUIRE(!baryons.empty(), "decuplet correlators of no baryon");
  CorrelatorTable all;
  for (const std::string& name : baryons) {
    const DiquarkOperator B = decuplet_operator(name);
    CorrelatorTable sum;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const CorrelatorTable part =
            diquark_correlators(quarks, B, decuplet_diquark(j), B, decuplet_diquark(i),
                                {spin_three_halves(parity, i, j)}, momenta, insertion);
        if (sum.rows == 0) {
          sum = part;
          continue;
        }
        for (size_t k = 0; k < sum.values.size(); ++k) sum.values[k] += part.values[k];
      }
    if (all.rows == 0) all = CorrelatorTable(0, sum.momenta, sum.times);
    all.rows += sum.rows;
    all.values.insert(all.values.end(), sum.values.begin(), sum.values.end());
  }
  return all;
}

}  // namespace trellis
