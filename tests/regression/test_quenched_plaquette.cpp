// timeout: 7200
/// This long run is skipped unless TRELLIS_LONG_RUNS is set. It compares the plaquette of the Wilson action
/// at beta 6.0 on 16^4 with .593678(24) (hep-lat/9602007), with an error of our own below 5e-5.
/// doc/operators/gauge.md records a run.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_quenched_plaquette {

struct Estimate {
  double mean, error, autocorrelation_time;
};

/// Returns mean, error from bins, and the integrated autocorrelation time that both variances imply.
Estimate estimate(const std::vector<double>& series, size_t bin_length) {
  const size_t bins = series.size() / bin_length, n = bins * bin_length;
  double mean = 0, variance = 0, bin_variance = 0;
  for (size_t i = 0; i < n; ++i) mean += series[i] / double(n);
  for (size_t b = 0; b < bins; ++b) {
    double bin = 0;
    for (size_t i = b * bin_length; i < (b + 1) * bin_length; ++i) {
      bin += series[i] / double(bin_length);
      variance += std::pow(series[i] - mean, 2) / double(n - 1);
    }
    bin_variance += std::pow(bin - mean, 2) / double(bins - 1);
  }
  return {mean, std::sqrt(bin_variance / double(bins)), 0.5 * double(bin_length) * bin_variance / variance};
}

TEST(QuenchedPlaquette, beta_6_on_16_to_the_4) {
  if (std::getenv("TRELLIS_LONG_RUNS") == nullptr) GTEST_SKIP() << "a long run: set TRELLIS_LONG_RUNS=1";
  const int thermalisation = 200, updates = 2000;
  const HeatbathParams params{6.0, 1, 4};
  GaugeField U(make_lattice({16, 16, 16, 16}));
  set_hot(U, 20260101);
  Heatbath chain(params);
  std::vector<double> series;
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < thermalisation + updates; ++k) {
    chain.update(U, 20260101, 0, uint32_t(k));
    if (k >= thermalisation) series.push_back(plaquette(U));
    if (k % 200 == 199) {
      std::printf("update %d plaquette %.8f\n", k + 1, plaquette(U));
      std::fflush(stdout);
    }
  }
  const Estimate P = estimate(series, 50);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("plaquette %.7f +- %.7f, autocorrelation time %.2f updates, %d updates, %.0f s\n", P.mean,
              P.error, P.autocorrelation_time, updates, seconds);
  EXPECT_LT(P.error, 5e-5);
  EXPECT_LT(std::abs(P.mean - 0.593678), 3 * std::hypot(P.error, 24e-6));
}

}  // namespace in_test_quenched_plaquette
}  // namespace trellis
