// timeout: 600
/// Hybrid Monte Carlo and heat bath sample the same distribution: plaquette and rectangle agree on 4^4.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/gauge_monomial.hpp"
#include "trellis/update/heatbath.hpp"
#include "trellis/update/hmc.hpp"

namespace trellis {
namespace in_test_hmc_plaquette {

struct Mean {
  double value, error;
};

/// Takes the error from bins longer than the autocorrelation.
Mean binned_mean(const std::vector<double>& series, size_t bins) {
  const size_t length = series.size() / bins;
  std::vector<double> means(bins, 0.0);
  for (size_t i = 0; i < bins * length; ++i) means[i / length] += series[i] / double(length);
  double mean = 0, variance = 0;
  for (const double m : means) mean += m / double(bins);
  for (const double m : means) variance += (m - mean) * (m - mean);
  return {mean, std::sqrt(variance / double(bins * (bins - 1)))};
}

TEST(HmcPlaquette, equals_that_of_the_heat_bath) {
  const double beta = 5.2;  // below the crossover at 5.5, where 4^4 takes hundreds of updates to forget
  GaugeField U(make_lattice({4, 4, 4, 4})), V = U;
  set_hot(U, 1);
  set_hot(V, 2);
  std::vector<double> plaquettes, rectangles, hmc_plaquettes, hmc_rectangles;
  for (uint32_t k = 1; k <= 3200; ++k) {
    heatbath_update(U, {beta, 1, 3}, 1, 0, k);
    if (k <= 200) continue;
    plaquettes.push_back(plaquette(U));
    rectangles.push_back(rectangle(U));
  }
  Hmc hmc({2, 0, 1.0}, {{Scheme::omelyan2,
                         6,
                         0.1931833275037836,
                         {std::make_shared<GaugeMonomial>("gauge", GaugeAction::wilson(beta))}}});
  for (uint32_t k = 1; k <= 2600; ++k) {
    hmc.trajectory(V, k, k > 50);
    if (k <= 200) continue;
    hmc_plaquettes.push_back(plaquette(V));
    hmc_rectangles.push_back(rectangle(V));
  }
  const Mean P = binned_mean(plaquettes, 30), Q = binned_mean(hmc_plaquettes, 30);
  const Mean R = binned_mean(rectangles, 30), S = binned_mean(hmc_rectangles, 30);
  EXPECT_LT(P.error, 7e-4);
  EXPECT_LT(Q.error, 1e-3);
  EXPECT_NEAR(P.value, Q.value, 4 * std::hypot(P.error, Q.error));
  EXPECT_NEAR(R.value, S.value, 4 * std::hypot(R.error, S.error));
}

}  // namespace in_test_hmc_plaquette
}  // namespace trellis
