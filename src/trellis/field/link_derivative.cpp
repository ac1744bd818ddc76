#include "trellis/field/link_derivative.hpp"

#include <cstring>

namespace trellis {

LinkDerivative::LinkDerivative(const GaugeField& U) : storage_(U.lattice_ptr(), U.lanes()) { set_zero(); }

void LinkDerivative::set_zero() {
  const size_t reals = size_t(layout().blocks()) * 72 * size_t(lanes());
  std::memset(storage_.raw().data, 0, reals * sizeof(double));
  storage_.halo_is_stale();
}

}  // namespace trellis
