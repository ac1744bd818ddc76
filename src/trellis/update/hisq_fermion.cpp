#include "trellis/update/hisq_fermion.hpp"

#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/kernels/gauge/fat_links.hpp"

namespace trellis {

namespace {
/// One level of fat links takes this per site: for each mu 3 + 6 + 3 double staples, and 6 one-sided ones
/// twice where the level has Lepage's term.
constexpr double fat7_flops = 4 * 12 * sided_staples_cost.flops;
constexpr double asq_flops = fat7_flops + 4 * 6 * sided_staples_cost.flops;
/// Backwards the same staples are taken apart, after they are built once more.
constexpr double derivative_ratio = sided_staples_derivative_cost.flops / sided_staples_cost.flops + 1;
constexpr double bytes_per_flop = sided_staples_cost.bytes / sided_staples_cost.flops;
}  // namespace

HisqSmearing::HisqSmearing(double cut) : SmearedLinks{isotropic_stout(0.0), 0}, cut_{cut} {
  TRELLIS_REQUIRE(cut >= 0 && std::isfinite(cut), "HISQ: cut of small eigenvalues ", cut);
}

const GaugeField& HisqSmearing::at(const GaugeField& U) {
  const int64_t before = version();
  const GaugeField& thin = SmearedLinks::at(U);
  if (version() == before && hisq_) return thin;
  const PartTimer timer(costs()[Part::smearing]);
  hisq_.reset();  // an interruption leaves none, so that older ones are not taken for these
  hisq_ = std::make_unique<HisqLinks>(thin);
  std::erase_if(links_, [&](const auto& entry) {
    return entry.second->choice().backend != thin.backend() ||
           entry.second->lattice_ptr() != thin.lattice_ptr();
  });
  for (auto& [epsilon, links] : links_) links->update(hisq_->fat(epsilon), hisq_->long_field());
  const double flops = double(U.lattice().volume()) * (fat7_flops + asq_flops + long_links_cost.flops);
  costs()[Part::smearing].flops += flops;
  costs()[Part::smearing].bytes += flops * bytes_per_flop;
  return thin;
}

void HisqSmearing::pull_back(LinkDerivative& G) {
  const PartTimer timer(costs()[Part::smearing]);
  std::vector<HisqLinks::FlavourDerivative> flavours;
  for (auto& [epsilon, sums] : sums_)
    if (sums.is_used) flavours.push_back({&sums.of_fat, &sums.of_long, epsilon});
  if (flavours.empty()) return;
  guarded_links() += hisq_->add_derivative(G, flavours, cut_);
  for (auto& [epsilon, sums] : sums_) {
    if (!sums.is_used) continue;
    sums.of_fat.set_zero();
    sums.of_long.set_zero();
    sums.is_used = false;
  }
  const double flops =
      double(G.lattice().volume()) * (derivative_ratio * (fat7_flops + asq_flops) +
                                      double(flavours.size()) * long_links_derivative_cost.flops);
  costs()[Part::smearing].flops += flops;
  costs()[Part::smearing].bytes += flops * bytes_per_flop;
}

StaggeredLinksPtr HisqSmearing::links(double epsilon) {
  TRELLIS_REQUIRE(hisq_ != nullptr, "no links were set");
  auto& entry = links_[epsilon];
  if (!entry)
    entry = std::make_shared<StaggeredLinks>(hisq_->fat(epsilon), hisq_->long_field(),
                                             hisq_long_coefficient(epsilon), true,
                                             KernelChoice{.backend = hisq_->long_field().backend()});
  return entry;
}

HisqSmearing::Sums& HisqSmearing::sums(double epsilon) {
  TRELLIS_REQUIRE(hisq_ != nullptr, "no links were set");
  const GaugeField& like = hisq_->long_field();
  const auto found = sums_.find(epsilon);
  if (found != sums_.end() && &found->second.of_fat.lattice() == &like.lattice() &&
      found->second.of_fat.is_stored_like(like))
    return found->second;
  return sums_.insert_or_assign(epsilon, Sums{LinkDerivative(like), LinkDerivative(like)}).first->second;
}

HisqFermion::HisqFermion(std::shared_ptr<HisqSmearing> smearing, const StaggeredPhases& phases, double mass,
                         double epsilon)
    : StaggeredSquare{"HISQ", phases, mass}, smearing_{std::move(smearing)}, epsilon_{epsilon} {
  TRELLIS_REQUIRE(smearing_ != nullptr, "a HISQ flavour needs smeared links");
  TRELLIS_REQUIRE(std::isfinite(epsilon), "HISQ epsilon ", epsilon);
}

void HisqFermion::set_links(const GaugeField&, int64_t version) {
  TRELLIS_REQUIRE(version == smearing_->version(), "HISQ links are those of their own smearing");
  set_shared_links(smearing_->links(epsilon_));
}

void HisqFermion::add_derivative(LinkDerivative&, const std::vector<const SpinorField*>& X,
                                 const std::vector<double>& c) {
  HisqSmearing::Sums& sums = smearing_->sums(epsilon_);
  derivative().add(sums.of_fat, &sums.of_long, X, c);
  sums.is_used = true;
}

}  // namespace trellis
