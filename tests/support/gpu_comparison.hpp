#pragma once
/// The parts of test_cuda share these comparisons of a GPU with the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis::test {

using Numbers = std::vector<double>;

inline bool is_gpu_simulated() { return cuda::gpus().at(0).capability == "0.0"; }

/// Expects `gpu` like `cpu`, to `unit` of the largest number, on all ranks; on a simulated GPU the bits are
/// the same. Prints whether the bits agree on all ranks.
inline void expect_alike(const Numbers& gpu, const Numbers& cpu, const std::string& what,
                         double unit = 4e-14) {
  ASSERT_EQ(gpu.size(), cpu.size()) << what;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < cpu.size(); ++i) {
    largest = std::max(largest, std::fabs(cpu[i]));
    const double d = std::fabs(gpu[i] - cpu[i]);
    difference = std::isnan(d) ? HUGE_VAL : std::max(difference, d);
  }
  largest = world()->maximum(largest);
  difference = world()->maximum(difference);
  EXPECT_GT(largest, 0) << what;
  if (is_gpu_simulated())
    EXPECT_EQ(difference, 0) << what;
  else
    EXPECT_LE(difference, unit * largest) << what;
  if (world()->rank() == 0)  // tools/gpu_check_run.sh counts these lines
    std::cout << what << (difference == 0 ? ": same bits" : message(": differs by ", difference / largest))
              << std::endl;
}

/// Returns all right-hand sides of this rank's part of a field, on any backend.
inline Numbers numbers_of(const SiteField& field) {
  const size_t each = size_t(field.geometry().local_volume()) * size_t(field.reals());
  Numbers all(each * size_t(field.slots()), 0.0);
  for (int slot = 0; slot < field.slots(); ++slot) field.to_canonical(&all[size_t(slot) * each], slot);
  return all;
}

inline void append(Numbers& all, const Numbers& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Halos travel by this policy as long as this lives.
class WithExchange {
 public:
  explicit WithExchange(ExchangePolicy policy) { set_exchange_policy(policy); }
  explicit WithExchange(const std::string& name) : WithExchange(exchange_policy_by_name(name)) {}
  ~WithExchange() { set_exchange_policy(before_); }
  WithExchange(const WithExchange&) = delete;
  WithExchange& operator=(const WithExchange&) = delete;

 private:
  const ExchangePolicy before_ = exchange_policy();
};

/// This class skips its tests where there is no GPU.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda::why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU: " << why;
  }
};

}  // namespace trellis::test
