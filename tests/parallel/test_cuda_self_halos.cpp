/// On one GPU a process that plays a rank of many sends its faces to itself by each way of GPUs. These tests
/// are a part of the program test_cuda.
#include "tests/support/gpu_comparison.hpp"
#include "tests/support/self_halos.hpp"

namespace trellis {
namespace in_test_cuda_self_halos {

class CudaSelfHalos : public test::OnGpu {};

TEST_F(CudaSelfHalos, hops_have_the_bits_of_those_that_nobody_cuts) {
  if (world()->size() > 1) return;  // a process that plays another is alone
  std::vector<ExchangePolicy> policies{ExchangePolicy::staged};
  if (world()->can_share_memory())
    for (const ExchangePolicy policy :
         {ExchangePolicy::mapped, ExchangePolicy::peer, ExchangePolicy::peer_copied, ExchangePolicy::fused})
      policies.push_back(policy);
  if (library_takes_device_memory()) policies.push_back(ExchangePolicy::direct);
  for (const ExchangePolicy policy : policies) test::expect_same_hops(policy, Backend::cuda);
}

}  // namespace in_test_cuda_self_halos
}  // namespace trellis
