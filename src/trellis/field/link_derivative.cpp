#include "trellis/field/link_derivative.hpp"

namespace trellis {

LinkDerivative::LinkDerivative(const GaugeField& U) : storage_(GaugeField::zeros_like(U)) {
  storage_.halo_is_stale();
}

void LinkDerivative::set_zero() { storage_.set_zero(); }

}  // namespace trellis
