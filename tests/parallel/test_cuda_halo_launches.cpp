/// GPUs pack all faces of an exchange in one launch, complete the ghosts in at most one, and finish the
/// border of a hop in one, by every way; by the way `fused` a hop is one launch with its halo. These tests
/// are a part of the program test_cuda.
#include "tests/support/counted_costs.hpp"
#include "tests/support/gpu_comparison.hpp"
#include "tests/support/self_halos.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/device/tuner.hpp"
#include "trellis/field/halo/halo_exchange.hpp"
#include "trellis/field/spinor_halo.hpp"

namespace trellis {
namespace in_test_cuda_halo_launches {

class CudaHaloLaunches : public test::OnGpu {
 protected:
  const int ranks = world()->size();
  /// One process plays a rank of many; several cut two directions, or one.
  const LatticePtr lattice = ranks == 1 ? test::played_lattice({1, 2, 2, 2})
                                        : make_lattice({4, 4, 8, 8}, {1, 1, ranks == 4 ? 2 : 1, 2});
  const GaugeField U = GaugeField(lattice).on(Backend::cuda);

  /// Calls f(way) for all ways of GPUs.
  template <class F>
  static void for_each_way(const F& f) {
    using enum ExchangePolicy;
    std::vector<ExchangePolicy> policies{staged};
    if (world()->can_share_memory()) policies.insert(policies.end(), {mapped, peer, peer_copied, fused});
    if (library_takes_device_memory()) policies.push_back(direct);
    for (const ExchangePolicy policy : policies) {
      const test::WithExchange with(policy);
      f(policy);
    }
  }
  /// Returns the kernels that the GPU is asked for by the second call; the first one makes what is kept.
  template <class F>
  static int64_t kernels_of(const F& f) {
    f();
    const cuda::Activity before = cuda::activity();
    f();
    return cuda::activity_since(before).kernels;
  }
  /// Faces are packed, inner sites computed, where there are any, and border sites.
  static int64_t kernels_of_hop(ExchangePolicy policy, bool has_inner = true) {
    return policy == ExchangePolicy::fused ? 1 : has_inner ? 3 : 2;
  }
};

TEST_F(CudaHaloLaunches, of_wilson_hops) {
  for_each_way([&](ExchangePolicy policy) {
    for (const Precision precision : all_precisions)
      for (const int reals : {18, 12, 8}) {
        if (reals == 8 && precision == Precision::fp16_precision) continue;  // there are no such links
        const HoppingTerm hop(U, WilsonParams{}, {precision, reals, Backend::cuda, 0});
        const SpinorField in = hop.make_field(Subset::even, 1);
        SpinorField out = hop.make_field(Subset::odd, 1);
        const auto apply = [&] { hop.apply(out, 1, in, HopTask{}); };
        const std::string what = message(name_of(policy), ", ", name_of(precision), ", ", reals);
        EXPECT_EQ(kernels_of(apply), kernels_of_hop(policy)) << what;
        EXPECT_EQ(test::count(apply).launches, hop.hop_cost(1).launches) << what;
        EXPECT_EQ(test::count(apply).messages, hop.hop_cost(1).message_count()) << what;
      }
  });
}

/// The tuner tries `fused` with the messages of a hop, and a hop takes it where it is the choice.
TEST_F(CudaHaloLaunches, the_tuner_can_choose_one_launch) {
  if (!world()->can_share_memory()) return;  // no rank reaches memory of another
  const TuneMode before = tuner().mode();
  const auto kernels = [&] {
    const HoppingTerm hop(U, WilsonParams{}, {Precision::single_precision, 12, Backend::cuda, 0});
    const SpinorField in = hop.make_field(Subset::even, 1);
    SpinorField out = hop.make_field(Subset::odd, 1);
    return kernels_of([&] { hop.apply(out, 1, in, HopTask{}); });
  };
  tuner().take_records();
  tuner().set_mode(TuneMode::on);
  const int64_t tried = kernels();
  EXPECT_TRUE(tried == 1 || tried == 3) << tried;
  int found = 0;
  for (const auto& [key, choice] : tuner().take_records())
    if (key.kernel.starts_with("halo on cuda of a hop")) {
      ++found;
      EXPECT_EQ(tried, kernels_of_hop(choice.way == int(TransportWay::fused) ? ExchangePolicy::fused
                                                                             : ExchangePolicy::peer));
      tuner().fill(key, {int(TransportWay::fused), 0.0, choice.repeats + 1});
    }
  EXPECT_EQ(found, world()->rank() == 0 ? 1 : 0);
  tuner().set_mode(TuneMode::read);
  EXPECT_EQ(kernels(), 1);
  tuner().set_mode(before);
}

TEST_F(CudaHaloLaunches, of_staggered_hops) {
  const KernelChoice choice{.backend = Backend::cuda};
  const auto hops_of = [&](const StaggeredLinksPtr& links, const std::string& what) {
    for_each_way([&](ExchangePolicy policy) {
      for (const Precision precision : all_precisions) {
        const StaggeredHopping hop(links, StaggeredPhases{}, precision);
        const SpinorField in = hop.make_field(Subset::even, 1);
        SpinorField out = hop.make_field(Subset::odd, 1);
        const auto apply = [&] { hop.apply(out, 1, in, 1.0); };
        const std::string where = message(what, ", ", name_of(policy), ", ", name_of(precision));
        const bool has_inner = hop.inner_sites(links->is_improved() ? 3 : 1, 1).size() > 0;
        EXPECT_EQ(kernels_of(apply), kernels_of_hop(policy, has_inner)) << where;
        EXPECT_EQ(test::count(apply).launches, hop.hop_cost(1, 1).launches) << where;
        EXPECT_EQ(test::count(apply).messages, hop.hop_cost(1, 1).message_count()) << where;
      }
    });
  };
  hops_of(std::make_shared<StaggeredLinks>(U, choice), "naive");
  hops_of(std::make_shared<StaggeredLinks>(U, U, -1.0 / 24, true, choice), "improved");
}

TEST_F(CudaHaloLaunches, of_full_spinors) {
  const auto links = std::make_shared<HopLinks>(U, Precision::double_precision, 18, Backend::cuda, 0);
  FieldSpec spec;
  spec.backend = Backend::cuda;
  const SpinorField in(lattice, spec);
  for_each_way([&](ExchangePolicy policy) {
    SpinorHalo halo(links, 1);
    const auto exchange = [&] {
      halo.start(in, 0);
      halo.finish();
    };
    EXPECT_EQ(kernels_of(exchange), 1) << name_of(policy) << ": the ghosts are the messages";
  });
}

/// With corners there are more ranks around than without: up to 80.
TEST_F(CudaHaloLaunches, of_stored_numbers) {
  if (ranks == 1) return;  // a process that plays another has no such plan
  for (const Precision precision : {Precision::double_precision, Precision::half_precision})
    for (const bool has_corners : {false, true})
      for_each_way([&](ExchangePolicy policy) {
        const SiteField field(lattice, {precision, Subset::full, 1, 8, Backend::cuda});
        HaloExchange halo(field, HaloShape{1, has_corners});
        EXPECT_EQ(kernels_of([&] { halo.exchange(field); }), 2) << name_of(policy) << ", " << has_corners;
      });
}

}  // namespace in_test_cuda_halo_launches
}  // namespace trellis
