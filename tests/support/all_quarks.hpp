#pragma once
/// This file makes one operator of every kind of quark, for tests of what holds for all of them.
#include "tests/support/five_fields.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/staggered.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::test {

struct Quark {
  std::string name;
  LinearOperatorPtr M;
  SchurForm form = SchurForm::symmetric;
};

inline LinearOperatorPtr wilson_operator(const GaugeField& U, double mass, double csw, double twisted) {
  WilsonParams params;
  params.mass = mass;
  params.csw_spatial = params.csw_temporal = csw;
  params.twisted_mass = twisted;
  return std::make_shared<WilsonOperator>(U, params);
}

inline LinearOperatorPtr staggered_operator(std::shared_ptr<StaggeredLinks> links, double mass) {
  return std::make_shared<StaggeredOperator>(
      std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, mass));
}

/// `staggered_mass` is that of naive and improved staggered quarks.
inline std::vector<Quark> all_quarks(const GaugeField& U, double staggered_mass = 0.0005) {
  const HisqLinks hisq(U);
  const auto improved = std::make_shared<StaggeredLinks>(hisq.fat(0.0), hisq.long_field(),
                                                         hisq_long_coefficient(0.0), false, KernelChoice{});
  const auto naive = std::make_shared<StaggeredLinks>(U, KernelChoice{});
  const auto domain_wall = std::make_shared<DomainWallOperator>(U, moebius(0.1, 4, 1.5, 0.5));
  return {{"Wilson, symmetric", wilson_operator(U, 0.05, 0, 0)},
          {"Wilson, asymmetric", wilson_operator(U, 0.05, 0, 0), SchurForm::asymmetric},
          {"clover", wilson_operator(U, 0.05, 1.5, 0)},
          {"twisted mass", wilson_operator(U, 0.05, 0, 0.02)},
          {"twisted clover", wilson_operator(U, 0.05, 1.5, 0.02), SchurForm::asymmetric},
          {"domain wall, symmetric", domain_wall},
          {"domain wall, asymmetric", domain_wall, SchurForm::asymmetric},
          {"staggered", staggered_operator(naive, staggered_mass)},
          {"HISQ", staggered_operator(improved, staggered_mass)}};
}

}  // namespace trellis::test
