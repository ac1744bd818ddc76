#pragma once
/// Parameters of multigrid that are left open are chosen here, by rules of the lattice and of the backend.
#include "trellis/multigrid/multigrid.hpp"

namespace trellis {

/// Returns the parameters with all that they leave to the rules: blocks, smoother, storages, levels. Throws
/// BadArgument, which says what is legal, for parameters that do not fit the matrix or its lattice.
MultigridParams with_rules(const WilsonMatrix& M, MultigridParams params);

}  // namespace trellis
