#include "trellis/multigrid/hierarchy.hpp"

namespace trellis {

MultigridHierarchy MultigridHierarchy::shifted(double mass, double twist) const {
  MultigridHierarchy result = *this;
  result.second = second->shifted(mass, twist);
  for (CoarserLevel& level : result.coarser) level.matrix = level.matrix->shifted(mass, twist);
  return result;
}

size_t MultigridHierarchy::bytes() const {
  size_t sum = prolongator->bytes() + second->bytes();
  for (const CoarserLevel& level : coarser) sum += level.prolongator->bytes() + level.matrix->bytes();
  return sum;
}

}  // namespace trellis
