#include "trellis/multigrid/multigrid_rules.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/field/storage/memory_layout.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/multigrid/schwarz.hpp"

namespace trellis {

namespace {
/// By the rule, the second lattice has more sites than these where there is a third, with blocks of at least
/// so many; test vectors of a level are so many times those of the one above.
constexpr int64_t sites_of_two_levels = 4096, least_coarse_block = 8;
constexpr double vectors_of_level_above = 1.4;

/// Fills in what the parameters leave to the rules.
void choose_smoother(MultigridParams& params, const WilsonMatrix& M) {
  const Geometry& g = M.lattice().geometry();
  Coord& block = params.schwarz_block;
  const bool is_asked = params.smoother == MultigridSmoother::schwarz;
  if (params.smoother != MultigridSmoother::minimal_residual) {
    if (is_asked) require_host(M.choice().backend, no_schwarz_on_gpus);
    const bool is_fit = block_order_error(g, params.block).empty();  // other blocks would be poor ones
    const bool takes_schwarz = is_asked || (has_lane_blocks(M.choice().backend) && is_fit);
    params.smoother = takes_schwarz ? MultigridSmoother::schwarz : MultigridSmoother::minimal_residual;
    if (takes_schwarz && block == Coord{0, 0, 0, 0}) block = is_fit ? params.block : choose_schwarz_block(g);
  }
  if (params.smoother == MultigridSmoother::minimal_residual) block = {0, 0, 0, 0};
  const bool is_schwarz = params.smoother == MultigridSmoother::schwarz;
  if (params.smoothing == 0) params.smoothing = is_schwarz ? 3 : 6;
  if (!params.smoother_storage)
    params.smoother_storage = is_schwarz || params.storage == Precision::double_precision
                                  ? params.storage
                                  : Precision::half_precision;
}

/// P in 16 bits is exact to 4e-5 of the largest number of a site, and takes half of the memory and of the
/// time.
void choose_prolongator_storage(MultigridParams& params) {
  const bool is_single = params.storage == Precision::single_precision;
  if (!params.prolongator_storage)
    params.prolongator_storage = is_single ? Precision::half_precision : params.storage;
  TRELLIS_REQUIRE(params.prolongator_storage == params.storage ||
                      (is_single && params.prolongator_storage == Precision::half_precision),
                  "multigrid with vectors in ", name_of(params.storage), " keeps P in that",
                  is_single ? " or in half" : "", ", not in ", name_of(*params.prolongator_storage));
}

/// Fills in the levels and their parameters. @param second is the geometry of the second lattice
void choose_levels(MultigridParams& params, Geometry second) {
  TRELLIS_REQUIRE(params.levels == MultigridParams::by_rule_of_levels || params.levels >= 2,
                  "multigrid has 2 levels or more, not ", params.levels);
  TRELLIS_REQUIRE(params.coarse_smoothing >= 1, "a coarse level needs smoothing, not ",
                  params.coarse_smoothing, " steps of it");
  const size_t given = std::max(params.coarse_blocks.size(), params.coarse_vectors.size());
  if (params.levels == MultigridParams::by_rule_of_levels) {
    const auto block = nearest_block(second, AggregatesOf::coarse_sites);
    const bool is_large = second.volume() > sites_of_two_levels;
    params.levels = given > 0                                                    ? int(given) + 2
                    : is_large && block && product(*block) >= least_coarse_block ? 3
                                                                                 : 2;
  }
  const size_t coarsenings = size_t(params.levels) - 2;
  TRELLIS_REQUIRE(given <= coarsenings, "multigrid of ", params.levels, " levels has blocks and vectors of ",
                  coarsenings, " coarse lattices, not of ", given);
  params.coarse_blocks.resize(coarsenings, Coord{0, 0, 0, 0});
  params.coarse_vectors.resize(coarsenings, 0);
  int above = params.vectors;
  for (size_t i = 0; i < coarsenings; ++i) {
    Coord& block = params.coarse_blocks[i];
    block = legal_block(second, block, AggregatesOf::coarse_sites);
    int& vectors = params.coarse_vectors[i];
    TRELLIS_REQUIRE(vectors >= 0 && vectors <= most_vectors, "a level of multigrid has 1 to ", most_vectors,
                    " vectors, not ", vectors);
    if (vectors == 0)
      vectors = std::min(
          {int(std::lround(vectors_of_level_above * above)), most_vectors, int(product(block)) * above});
    above = vectors;
    second = coarse_geometry(second, block);
  }
}

}  // namespace

MultigridParams with_rules(const WilsonMatrix& M, MultigridParams params) {
  TRELLIS_REQUIRE(!is_16_bit(params.storage), "multigrid keeps its vectors in double or single, not in ",
                  name_of(params.storage));
  TRELLIS_REQUIRE(params.sweeps >= 0, "multigrid needs 0 or more sweeps of its set-up, not ", params.sweeps);
  TRELLIS_REQUIRE(params.sources >= 0, "multigrid is set up for 0 or more sources, not ", params.sources);
  TRELLIS_REQUIRE(params.smoothing >= 0, "multigrid needs smoothing, not ", params.smoothing, " steps of it");
  TRELLIS_REQUIRE(params.coarse_ranks >= 0, "multigrid needs 0 or more coarse ranks, not ",
                  params.coarse_ranks);
  params.block = legal_block(M.lattice().geometry(), params.block);
  choose_smoother(params, M);
  choose_prolongator_storage(params);
  choose_levels(params, coarse_geometry(M.lattice().geometry(), params.block));
  return params;
}

}  // namespace trellis
