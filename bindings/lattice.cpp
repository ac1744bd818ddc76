/// Python gets lattices and process grids here.
#include "trellis/field/lattice.hpp"
#include "bindings.hpp"
#include "trellis/field/rank_placement.hpp"
#include "trellis/lattice/lane_split.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis::bindings {

namespace {
/// Returns the share of the blocks of one parity with a neighbour in another lane (a permutation on the way).
double crossing_fraction(const Coord& lattice, const Coord& grid, int lanes) {
  const SiteLayout layout(Geometry(lattice, ProcessGrid(grid)), lanes);
  int crossing = 0;
  for (int block = 0; block < layout.blocks(); ++block) {
    bool crosses = false;
    for (int leg = 0; leg < legs; ++leg)
      crosses |= layout.permutes(leg) &&
                 (layout.neighbours(0)[size_t(block * legs + leg)] & SiteLayout::crosses_bit);
    crossing += crosses;
  }
  return double(crossing) / layout.blocks();
}

/// Returns the share of the blocks of one parity whose neighbours all lie on the same rank.
double inner_fraction(const Coord& lattice, const Coord& grid, int lanes) {
  const SiteLayout layout(Geometry(lattice, ProcessGrid(grid)), lanes);
  return double(layout.inner(0).size()) / layout.blocks();
}
}  // namespace

void bind_lattice(nb::module_& m) {
  nb::class_<Lattice>(m, "Lattice")
      .def_prop_ro("extents", &Lattice::extents)
      .def_prop_ro("local_extents", [](const Lattice& l) { return l.geometry().local(); })
      .def_prop_ro("origin", [](const Lattice& l) { return l.geometry().origin(); })
      .def_prop_ro("grid", [](const Lattice& l) { return l.geometry().grid().extents(); })
      .def_prop_ro("rank", [](const Lattice& l) { return l.geometry().rank(); })
      .def_prop_ro("volume", &Lattice::volume)
      .def("__eq__", [](const Lattice& a, const Lattice& b) { return a.geometry() == b.geometry(); });
  m.def(
      "make_lattice",
      [](const Coord& extents, const Coord& grid) {
        if (grid != Coord{0, 0, 0, 0})  // what Python puts on lattices is made of links
          require_even_parts(Geometry(extents, ProcessGrid(grid)), "a gauge field");
        return std::const_pointer_cast<Lattice>(make_lattice(extents, grid));
      },
      "extents"_a, "grid"_a);
  m.def(
      "legal_process_grids",
      [](const Coord& lattice, int ranks) { return legal_process_grids(lattice, ranks); }, "lattice"_a,
      "ranks"_a);
  m.def(
      "choose_process_grid",
      [](const Coord& lattice, int ranks) { return choose_process_grid(lattice, ranks); }, "lattice"_a,
      "ranks"_a);
  m.def(
      "set_rank_map",
      [](const std::string& order, const std::vector<int>& rank_at) {
        set_rank_map({rank_order_by_name(order), rank_at});
      },
      "order"_a, "rank_at"_a, "The places of ranks on the grids of lattices made from now on.");
  m.def(
      "rank_map", [] { return std::make_pair(std::string(name_of(rank_map().order)), rank_map().rank_at); },
      "Order and list of set_rank_map.");
  m.def(
      "place_ranks",
      [](const Coord& lattice, const Coord& grid, const std::vector<int>& nodes, const std::string& order) {
        const ProcessGrid placed = place_ranks(lattice, grid, nodes, {rank_order_by_name(order)});
        std::vector<int> rank_at;
        for (int64_t i = 0; i < product(grid); ++i) rank_at.push_back(placed.rank_of(site_coord(i, grid)));
        return rank_at;
      },
      "lattice"_a, "grid"_a, "nodes"_a, "order"_a, "The rank of each place, x fastest.");
  m.def(
      "surface_between_nodes",
      [](const Coord& lattice, const Coord& grid) { return surface_between_nodes(lattice, grid, *world()); },
      "lattice"_a, "grid"_a, "Sites of faces between nodes, of the node with the most.");
  m.def(
      "lane_split",
      [](const Coord& lattice, const Coord& grid, int lanes) {
        return choose_lane_split(Geometry(lattice, ProcessGrid(grid)), lanes).lanes_per_direction;
      },
      "lattice"_a, "grid"_a, "lanes"_a);
  m.def("inner_fraction", &inner_fraction, "lattice"_a, "grid"_a, "lanes"_a);
  m.def("crossing_fraction", &crossing_fraction, "lattice"_a, "grid"_a, "lanes"_a);
}

}  // namespace trellis::bindings
