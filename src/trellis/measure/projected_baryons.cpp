/// Baryons have the form `projected` here.
#include <algorithm>
#include <map>

#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/baryon_products.hpp"
#include "trellis/measure/baryon_sums.hpp"

namespace trellis {

namespace {
/// It has T summed over time slices, for each set of three propagators once.
class ProjectedSums {
 public:
  ProjectedSums(const Momenta& momenta, int parity) : momenta_{momenta}, parity_{parity} {}

  const CorrelatorTable& of(const ThreeQuarks& quarks) {
    CorrelatorTable& T = sums_[quarks];
    if (T.rows == 0) T = compute(quarks);
    return T;
  }

 private:
  CorrelatorTable compute(const ThreeQuarks& quarks) const {
    const SpinorField& first = quarks[0]->columns();
    auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
      ProjectedProductsCall call;
      for (size_t i = 0; i < 3; ++i) call.quarks[i] = quarks[i]->columns().raw(parity);
      call.sign = parity_;
      call.out = out;
      call.first_block = blocks.begin;
      dispatch_unquantised(
          first.spec().backend, first.precision(), first.layout().lanes(),
          [&]<class Layout, class Storage>() { launch_projected_products<Layout, Storage>(call, blocks); });
    };
    CorrelatorTable T = time_slice_sums(first, projected_components, momenta_, quarks[0]->source_at(), write);
    remove_boundary_phase(T, quarks);
    return T;
  }

  Momenta momenta_;
  int parity_;
  std::map<ThreeQuarks, CorrelatorTable> sums_;
};

/// Returns the row of T for sink spins s and source spins s' of the quarks 0, 1, 2.
int component(const std::array<int, 3>& s, const std::array<int, 3>& s_source) {
  return 16 * (2 * s[0] + s_source[0]) + 4 * (2 * s[1] + s_source[1]) + 2 * s[2] + s_source[2];
}

/// Adds: to += < sink sourcebar > of two terms.
void add_contractions(CorrelatorTable& to, int row, const BaryonQuarks& quarks, const ProjectedTerm& sink,
                      const ProjectedTerm& source, ProjectedSums& sums, const Insertion* insertion) {
  // T does not change when quarks are exchanged with their spins: order them by flavour, to find sums again.
  std::array<size_t, 3> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sink.quarks[a] < sink.quarks[b]; });
  for (const auto& pairing : permutations) {
    std::array<Flavour, 3> flavours{};
    std::array<int, 3> s{}, s_source{};
    bool flavours_match = true;
    for (size_t i = 0; i < 3; ++i) {
      const size_t partner = size_t(pairing[order[i]]);
      flavours[i] = sink.quarks[order[i]];
      s[i] = sink.spins[order[i]];
      s_source[i] = source.spins[partner];
      flavours_match = flavours_match && flavours[i] == source.quarks[partner];
    }
    if (!flavours_match) continue;
    const double weight = sink.coefficient * source.coefficient;
    for (const ThreeQuarks& three : inserted(three_quarks(quarks, flavours), flavours, insertion)) {
      const CorrelatorTable& T = sums.of(three);
      for (int p = 0; p < to.momenta; ++p)
        for (int t = 0; t < to.times; ++t) to.at(row, p, t) += weight * T.at(component(s, s_source), p, t);
    }
  }
}
}  // namespace

std::vector<BaryonState> baryon_states(const std::vector<std::string>& baryons) {
  std::vector<BaryonState> states;
  for (const std::string& name : baryons)
    for (const int twice_spin : spin_states(name)) states.push_back({name, twice_spin});
  return states;
}

CorrelatorTable projected_correlators(const BaryonQuarks& quarks, const std::vector<BaryonState>& states,
                                      const Momenta& momenta, int parity, const Insertion* insertion) {
  TRELLIS_REQUIRE(parity == 1 || parity == -1, "parity ", parity, " is not 1 or -1");
  TRELLIS_REQUIRE(!states.empty(), "no baryon states");
  std::vector<ProjectedOperator> operators;
  for (const BaryonState& state : states)
    operators.push_back(projected_operator(state.baryon, state.twice_spin));
  const ThreeQuarks any = three_quarks(quarks, operators.front().front().quarks);
  CorrelatorTable C(int(states.size()), int(momenta.size()), any[0]->geometry().lattice()[3]);
  ProjectedSums sums(momenta, parity);
  for (int row = 0; row < C.rows; ++row)
    for (const ProjectedTerm& sink : operators[size_t(row)])
      for (const ProjectedTerm& source : operators[size_t(row)])
        add_contractions(C, row, quarks, sink, source, sums, insertion);
  return C;
}

}  // namespace trellis
