#include "bench/options.hpp"

#include <cstdio>
#include <sstream>

#include "trellis/base/error.hpp"

namespace trellis::bench {

namespace {
constexpr const char* usage =
    "usage: [--lattice X.Y.Z.T[,...]] [--precision double|float|half|fp16[,...]] [--link-reals "
    "18|12|8[,...]] "
    "[--rhs N[,...]]\n"
    "       [--threads N] [--seconds S] [--rounds N] [--json | --markdown] [--check]\n";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

int to_int(const std::string& text, const std::string& option) {
  size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || value < 1)
    throw BadArgument(message(option, ": '", text, "' is not a positive integer"));
  return value;
}

Coord to_lattice(const std::string& text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) throw BadArgument(message("--lattice: '", text, "' is not of the form 16.16.16.16"));
  Coord c;
  for (int mu = 0; mu < Nd; ++mu) c[size_t(mu)] = to_int(parts[size_t(mu)], "--lattice");
  return c;
}

void set_option(Options& options, const std::string& name, const std::string& value) {
  const auto parts = split(value, ',');
  if (name == "--lattice") {
    options.lattices.clear();
    for (const auto& p : parts) options.lattices.push_back(to_lattice(p));
  } else if (name == "--precision") {
    options.precisions.clear();
    for (const auto& p : parts) options.precisions.push_back(precision_by_name(p));
  } else if (name == "--link-reals") {
    options.link_reals.clear();
    for (const auto& p : parts) options.link_reals.push_back(to_int(p, name));
  } else if (name == "--rhs") {
    options.rhs.clear();
    for (const auto& p : parts) options.rhs.push_back(to_int(p, name));
  } else if (name == "--threads") {
    options.threads = to_int(value, name);
  } else if (name == "--rounds") {
    options.rounds = to_int(value, name);
  } else if (name == "--seconds") {
    options.seconds = std::stod(value);
  } else {
    throw BadArgument(message("unknown option ", name));
  }
}
}  // namespace

Options parse_options(int argc, char** argv, const Options& defaults) {
  Options options = defaults;
  const std::string program = argv[0];
  options.command = program.substr(program.find_last_of('/') + 1);
  for (int i = 1; i < argc; ++i) options.command += std::string(" ") + argv[i];
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string name = argv[i];
      if (name == "--json") {
        options.json = true;
      } else if (name == "--markdown") {
        options.markdown = true;
      } else if (name == "--check") {
        options.check = true;
      } else {
        if (i + 1 == argc) throw BadArgument(message("option ", name, " needs a value, or is unknown"));
        set_option(options, name, argv[++i]);
      }
    }
  } catch (const BadArgument&) {
    std::fputs(usage, stderr);
    throw;
  }
  return options;
}

}  // namespace trellis::bench
