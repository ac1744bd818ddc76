#include "trellis/io/gauge_format.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::io {

Coord checked_lattice(const InputFile& file, const std::array<int64_t, 4>& extents, int64_t bytes_per_site) {
  Coord lattice;
  int64_t sites_left = file.size() / bytes_per_site;
  for (int mu = 0; mu < Nd; ++mu) {
    const int64_t extent = extents[mu];
    if (extent != 1 && (extent < 2 || extent % 2 != 0 || extent > (1 << 20)))
      throw FileError(message(file.path(), ": lattice extent in direction ", "xyzt"[mu],
                              ": expected an even number up to ", 1 << 20, ", or 1, found ", extent));
    lattice[mu] = int(extent);
    sites_left /= extent;
  }
  if (sites_left == 0)
    throw FileError(message(file.path(), " is truncated: the lattice ", to_string(lattice),
                            " needs more than the ", file.size(), " bytes that are there"));
  return lattice;
}

void require_same_lattice(const InputFile& file, const Coord& lattice, const ReadOptions& options) {
  if (options.lattice && *options.lattice != lattice)
    throw FileError(message(file.path(), ": expected the lattice ", to_string(*options.lattice), ", found ",
                            to_string(lattice)));
}

std::optional<int> hypercube_of(int64_t sites) {
  const auto extent = int64_t(std::lround(std::pow(double(sites), 0.25)));
  if (extent < 2 || extent % 2 != 0 || extent > 1000 || extent * extent * extent * extent != sites)
    return std::nullopt;
  return int(extent);
}

std::string joined(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += "; " + warning;
  return text;
}

std::string other_gauge_group(int64_t bytes, int64_t sites) {
  for (const int64_t colours : {2, 4, 5, 6})
    for (const int bits : {64, 32}) {
      const int64_t bytes_per_site = Nd * colours * colours * 2 * (bits / 8);
      if (bytes % bytes_per_site != 0) continue;
      const int64_t held = bytes / bytes_per_site;
      const auto extent = hypercube_of(held);
      if (sites != 0 ? held != sites : !extent.has_value()) continue;
      return message("the size of SU(", colours, ") links of ", bits, " bits",
                     sites == 0 ? message(" on ", to_string({*extent, *extent, *extent, *extent})) : "",
                     ", and only SU(3) is read");
    }
  return "";
}

Coord lattice_without_header(const InputFile& file, int64_t sites, const ReadOptions& options,
                             FileReport& report, const std::string& hint) {
  if (options.lattice) return *options.lattice;
  const auto extent = hypercube_of(sites);
  if (!extent)
    throw FileError(message(file.path(), " does not say its lattice (", sites,
                            " sites, no hypercube of even extent", hint, "): give the lattice ",
                            "(--lattice, lattice=)", joined(report.warnings)));
  const int L = *extent;
  report.warnings.push_back(message("the file does not say its lattice, which was guessed as ",
                                    to_string({L, L, L, L}), ", a hypercube of its size; give the lattice ",
                                    "(--lattice, lattice=) if it is another one"));
  return {L, L, L, L};
}

}  // namespace trellis::io
