#pragma once
/// Command line of the benchmarks.
#include <string>
#include <vector>

#include "trellis/base/precision.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::bench {

struct Options {
  std::vector<Coord> lattices;
  std::vector<Precision> precisions;
  std::vector<int> link_reals, rhs;
  int threads = 1;
  double seconds = 0.1;  ///< of one timing; the median of `rounds` counts
  int rounds = 7;
  bool json = false, check = false, markdown = false;
  std::string command;  ///< as it was typed, for the report
};

/// Parses --lattice 16.16.16.16 --threads 1 --precision float --link-reals 12 --rhs 1 --seconds .1 --rounds 7
/// --json
/// --check --markdown; lists are separated by commas. Missing ones keep `defaults`. Prints the usage and
/// throws BadArgument for anything else.
Options parse_options(int argc, char** argv, const Options& defaults);

}  // namespace trellis::bench
