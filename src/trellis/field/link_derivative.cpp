#include "trellis/field/link_derivative.hpp"

#include <vector>

namespace trellis {

LinkDerivative::LinkDerivative(const GaugeField& U) : storage_(GaugeField::zeros_like(U)) {
  storage_.halo_is_stale();
}

void LinkDerivative::set_zero() { storage_.set_zero(); }

void LinkDerivative::add_from_host(const LinkDerivative& other) {
  std::vector<double> sum(storage_.canonical_size()), part(sum.size());
  storage_.to_canonical(sum.data());
  other.storage_.to_canonical(part.data());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  storage_.from_canonical(sum.data());
}

}  // namespace trellis
