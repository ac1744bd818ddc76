#include "trellis/measure/baryon_sums.hpp"

namespace trellis {

ThreeQuarks three_quarks(const BaryonQuarks& quarks, const std::array<Flavour, 3>& flavours) {
  static const char* const names[] = {"up", "down", "strange"};
  const Propagator* all[] = {quarks.up, quarks.down, quarks.strange};
  ThreeQuarks three{};
  for (size_t i = 0; i < 3; ++i) {
    three[i] = all[int(flavours[i])];
    TRELLIS_REQUIRE(three[i] != nullptr, "the ", names[int(flavours[i])],
                    " propagator of a baryon is missing");
    const Propagator& first = *three[0];
    TRELLIS_REQUIRE(three[i]->lattice_ptr() == first.lattice_ptr() &&
                        three[i]->columns().spec() == first.columns().spec(),
                    "propagators of a baryon differ in lattice or storage");
    TRELLIS_REQUIRE(three[i]->source_at() == first.source_at(),
                    "propagators of a baryon have different sources: ", to_string(first.source_at()), " and ",
                    to_string(three[i]->source_at()));
  }
  return three;
}

std::vector<ThreeQuarks> inserted(const ThreeQuarks& quarks, const std::array<Flavour, 3>& flavours,
                                  const Insertion* insertion) {
  if (insertion == nullptr) return {quarks};
  const Propagator* F = insertion->propagator;
  TRELLIS_REQUIRE(F != nullptr, "a Feynman-Hellmann insertion without a propagator");
  TRELLIS_REQUIRE(F->lattice_ptr() == quarks[0]->lattice_ptr() &&
                      F->columns().spec() == quarks[0]->columns().spec() &&
                      F->source_at() == quarks[0]->source_at(),
                  "the Feynman-Hellmann propagator differs from the quarks in lattice, storage or source");
  std::vector<ThreeQuarks> all;
  for (size_t i = 0; i < 3; ++i) {
    if (flavours[i] != insertion->flavour) continue;
    all.push_back(quarks);
    all.back()[i] = F;
  }
  return all;
}

void remove_boundary_phase(CorrelatorTable& table, const ThreeQuarks& quarks) {
  const auto phase = quarks[0]->boundary()[3] * quarks[1]->boundary()[3] * quarks[2]->boundary()[3];
  if (phase == 0.0 || phase == 1.0) return;
  const int first_wrapped = table.times - quarks[0]->source_at()[3];
  for (int row = 0; row < table.rows; ++row)
    for (int p = 0; p < table.momenta; ++p)
      for (int t = first_wrapped; t < table.times; ++t) table.at(row, p, t) *= phase;
}

}  // namespace trellis
