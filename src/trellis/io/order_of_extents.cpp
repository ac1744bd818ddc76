/// A caller may give extents for a file that states none: this file checks whether the plaquette agrees with
/// their order.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/site_ordered.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

/// Returns the other orders of these extents, with those that the file states in their places.
std::vector<Coord> other_orders(const Coord& lattice, const std::array<bool, 4>& is_stated) {
  Coord order = lattice;
  std::sort(order.begin(), order.end());
  std::vector<Coord> orders;
  do {
    bool is_legal = order != lattice;
    for (size_t mu = 0; mu < Nd; ++mu) is_legal = is_legal && (!is_stated[mu] || order[mu] == lattice[mu]);
    if (is_legal) orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

/// Returns the plaquette of the file's links on another lattice, or nothing where these ranks cannot cut that
/// one.
std::optional<double> plaquette_on(const Coord& lattice, InputFile& file, const GaugeFileHeader& header,
                                   CommunicatorPtr communicator) {
  LatticePtr other;
  try {
    other = make_lattice(lattice, {0, 0, 0, 0}, std::move(communicator));
  } catch (const BadArgument&) {
    return std::nullopt;
  }
  GaugeFileHeader trial = header;
  trial.report.lattice = lattice;
  GaugeField V(other);
  std::vector<double> links(V.canonical_size());
  if (trial.report.format == GaugeFormat::bridge_text)
    read_bridge_text(file, trial, other->geometry(), links.data());
  else
    read_site_ordered(file, trial, other->geometry(), links.data());
  V.from_canonical(links.data());
  return plaquette(V);
}

}  // namespace

/// In another order the neighbours of most sites are others, and plaquettes there are traces of unrelated
/// matrices: Re tr / 3 of a random matrix has the variance 1/18, so the mean of 6 V of them is 0 to (1/18 / 6
/// V)^(1/2).
void check_order_of_extents(InputFile& file, GaugeFileHeader& header, const GaugeField& U) {
  const Coord& lattice = header.report.lattice;
  const std::vector<Coord> orders = other_orders(lattice, header.extent_is_stated);
  if (orders.empty()) return;
  constexpr double deviations = 10.0;
  const double margin = deviations * std::sqrt(1.0 / (18.0 * 6.0 * double(product(lattice))));
  const double given = plaquette(U);
  double best = -2.0;
  Coord fitting = lattice;
  for (const Coord& order : orders) {
    const auto found =
        plaquette_on(order, file, header, CommunicatorPtr(U.lattice_ptr(), &U.lattice().communicator()));
    if (!found || *found <= best) continue;
    best = *found;
    fitting = order;
  }
  if (best > given + margin)
    throw FileError(message(
        file.path(), ": the lattice ", to_string(lattice),
        " was given (--lattice, lattice=), which the file does not state, but the links fit ",
        to_string(fitting), " better: there the plaquette is ", readable(best, 6), ", on ",
        to_string(lattice), " it is ", readable(given, 6), "; give the extents in the order x, y, z, t"));
  if (best > given - margin)
    header.report.warnings.push_back(
        message("the file does not state its lattice, and the links do not tell whether it is ",
                to_string(lattice), ", as given, or ", to_string(fitting), ": the plaquettes are ",
                readable(given, 6), " and ", readable(best, 6)));
}

}  // namespace trellis::io
