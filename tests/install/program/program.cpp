// This program stands outside the tree: it changes a link of a gauge field, writes the field and reads it
// back.
#include <complex>
#include <cstdio>
#include <vector>

#include "trellis/field/gauge_field.hpp"

int main() {
  trellis::GaugeField U(trellis::make_lattice({4, 4, 6, 8}));
  const trellis::Coord x{1, 2, 3, 4};
  trellis::Link link = U.link(x, 2);
  link[0] = std::polar(1.0, 0.3);
  link[4] = std::polar(1.0, -0.3);
  U.set_link(x, 2, link);
  std::vector<double> reals(U.canonical_size());
  U.to_canonical(reals.data());
  trellis::GaugeField V(U.lattice_ptr());
  V.from_canonical(reals.data());
  const bool same = V.link(x, 2) == link && V.link({0, 0, 0, 0}, 2) == U.link({0, 0, 0, 0}, 2);
  std::printf("trellis from outside: %s\n", same ? "the same links came back" : "DIFFERENT LINKS");
  return same ? 0 : 1;
}
