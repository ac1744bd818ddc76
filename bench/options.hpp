#pragma once
/// The benchmarks have this command line.
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "trellis/base/precision.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::bench {

/// It is an option of a single benchmark. read() sets its value from a text; BadArgument says what was
/// expected.
struct OwnOption {
  std::string name, form;  ///< they are "--vectors" and "N", for instance; without a form it has no value
  std::string standard;    ///< help shows it as the value without the option
  std::string description;
  std::function<void(const std::string&)> read;
};
// The value lives as long as the option.
OwnOption own_integer(const std::string& name, int& value, int least, int most,
                      const std::string& description);
OwnOption own_integers(const std::string& name, std::vector<int>& values, int least, int most,
                       const std::string& description);  ///< the text separates them by commas
OwnOption own_real(const std::string& name, double& value, double least, double most,
                   const std::string& description);
OwnOption own_reals(const std::string& name, std::vector<double>& values, double least, double most,
                    const std::string& description);  ///< the text separates them by commas
OwnOption own_text(const std::string& name, const std::string& form, std::string& value,
                   const std::string& description);
/// The option has no value: it sets `value`.
OwnOption own_flag(const std::string& name, bool& value, const std::string& description);
/// Reads the extents of a box, x.y.z.t, all of them at least 1.
OwnOption own_extents(const std::string& name, Coord& value, const std::string& standard,
                      const std::string& description);

/// A list that is empty in the defaults is an option that the benchmark does not take.
struct Options {
  std::vector<Coord> lattices;
  int least_extent = 2;  ///< lattices have it at least; it is 1 where a benchmark takes such
  std::vector<Precision> precisions;
  std::vector<int> link_reals, rhs, Ls;
  int threads = 1;
  double seconds = 0.1;  ///< one timing takes so long; the median of `rounds` counts
  int rounds = 7;
  bool json = false, check = false, markdown = false;
  bool is_checkable = true;  ///< it takes --check
  std::vector<OwnOption> own;
  std::string command;  ///< the report shows it as it was typed
};

/// parse_options throws this when --help or -h is among the arguments; its text lists the options.
struct HelpWanted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Parses --lattice 16.16.16.16 --threads 1 --precision float --link-reals 12 --rhs 1 --ls 12 --seconds .1
/// --rounds 7 --json --markdown --check, values also behind '='; lists are separated by commas. Missing ones
/// keep `defaults`. Throws BadArgument for anything else, and for values out of range. The help begins with
/// `description`.
Options parse_options(int argc, char** argv, const Options& defaults, const std::string& description = "");

/// Returns a combination of options as messages name it: "fp16, 8 link reals".
std::string combination(Precision precision, int link_reals);
/// Says on standard error (rank 0) that a combination is left out, and why.
void say_skipped(const std::string& what, const std::string& why);
/// Returns whether links are stored so; if not, it says that the combination is left out.
bool is_legal(Precision precision, int link_reals);

}  // namespace trellis::bench
