#include "trellis/multigrid/hierarchy.hpp"

namespace trellis {

LatticePtr MultigridHierarchy::lattice(int level) const {
  if (level == 0) return prolongator->fine_lattice();
  return transfer(level - 1).make_coarse_field(1).lattice_ptr();
}

LinearOperatorPtr MultigridHierarchy::operator_of(int level, const CoarseMatrixPtr& matrix) const {
  const bool is_gathered = gathering && level + 1 == levels();
  return coarse_operator_on(is_gathered ? gathering : nullptr, matrix,
                            transfer(level - 1).make_coarse_field(1).spec());
}

MultigridHierarchy MultigridHierarchy::shifted(double mass, double twist) const {
  MultigridHierarchy result = *this;
  const auto shift = [&](CoarseMatrixPtr& matrix, int level) {
    if (!gathering || level + 1 < levels())
      matrix = matrix->shifted(mass, twist);
    else
      gathering->on_few([&] { matrix = matrix->shifted(mass, twist); });
  };
  shift(result.second, 1);
  for (size_t i = 0; i < coarser.size(); ++i) shift(result.coarser[i].matrix, int(i) + 2);
  return result;
}

size_t MultigridHierarchy::bytes() const {
  const auto bytes_of = [](const CoarseMatrixPtr& matrix) { return matrix ? matrix->bytes() : 0; };
  size_t sum = prolongator->bytes() + bytes_of(second);
  for (const CoarserLevel& level : coarser) sum += level.prolongator->bytes() + bytes_of(level.matrix);
  return sum;
}

}  // namespace trellis
