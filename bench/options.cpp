#include "bench/options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/thread_limit.hpp"
#include "trellis/field/hop_links.hpp"

namespace trellis::bench {

namespace {
constexpr int most_rounds = 1000, most_rhs = 256, most_extent = 512;
constexpr int least_Ls = 2, most_Ls = 32;
constexpr double most_seconds = 3600;

/// Also empty parts.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

int to_int(const std::string& text, const std::string& option, int least, int most) {
  size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = text.size() + 1;
  }
  if (used != text.size() || value < least || value > most)
    throw BadArgument(
        message(option, ": expected an integer from ", least, " to ", most, ", found '", text, "'"));
  return value;
}

double to_seconds(const std::string& text) {
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = text.size() + 1;
  }
  if (used != text.size() || !(value > 0 && value <= most_seconds))
    throw BadArgument(
        message("--seconds: expected a number above 0 and up to ", most_seconds, ", found '", text, "'"));
  return value;
}

Coord to_lattice(const std::string& text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4)
    throw BadArgument(message("--lattice: expected four extents such as 16.16.16.16, found '", text, "'"));
  Coord c;
  for (size_t mu = 0; mu < Nd; ++mu) {
    c[mu] = to_int(parts[mu], "--lattice", 2, most_extent);
    if (c[mu] % 2) throw BadArgument(message("--lattice: expected even extents, found '", text, "'"));
  }
  return c;
}

Precision to_precision(const std::string& text) {
  if (text == "single") return Precision::single_precision;
  std::string names;
  for (const Precision precision : all_precisions) {
    if (text == name_of(precision)) return precision;
    if (!names.empty()) names += ", ";
    names += name_of(precision);
  }
  throw BadArgument(message("--precision: expected one of ", names, ", found '", text, "'"));
}

int to_link_reals(const std::string& text) {
  if (text != "18" && text != "12" && text != "8")
    throw BadArgument(message("--link-reals: expected one of 18, 12, 8, found '", text, "'"));
  return std::stoi(text);
}

template <class T, class Parse>
void set_list(std::vector<T>& list, const std::string& name, const std::string& value, const Parse& parse) {
  if (list.empty())
    throw BadArgument(message("option ", name, " does not apply to this benchmark",
                              name == "--rhs" ? " (--ls sets the slices of domain walls)" : ""));
  list.clear();
  for (const auto& part : split(value, ',')) {
    const T one = parse(part);
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

void set_option(Options& options, const std::string& name, const std::string& value) {
  const auto integer = [&](int least, int most) {
    return [&name, least, most](const std::string& text) { return to_int(text, name, least, most); };
  };
  if (name == "--lattice")
    set_list(options.lattices, name, value, to_lattice);
  else if (name == "--precision")
    set_list(options.precisions, name, value, to_precision);
  else if (name == "--link-reals")
    set_list(options.link_reals, name, value, to_link_reals);
  else if (name == "--rhs")
    set_list(options.rhs, name, value, integer(1, most_rhs));
  else if (name == "--ls")
    set_list(options.Ls, name, value, integer(least_Ls, most_Ls));
  else if (name == "--threads")
    options.threads = to_int(value, name, 1, most_threads());
  else if (name == "--rounds")
    options.rounds = to_int(value, name, 1, most_rounds);
  else if (name == "--seconds")
    options.seconds = to_seconds(value);
  else
    throw BadArgument(message("unknown option ", name, "; --help lists them"));
}

/// Whether it was an option without a value.
bool set_flag(Options& options, const std::string& name) {
  if (name == "--json")
    options.json = true;
  else if (name == "--markdown" && options.is_checkable)
    options.markdown = true;
  else if (name == "--check" && options.is_checkable)
    options.check = true;
  else
    return false;
  return true;
}

bool takes_value(const std::string& name) {
  static const std::vector<std::string> names{"--lattice", "--precision", "--link-reals", "--rhs",
                                              "--ls",      "--threads",   "--rounds",     "--seconds"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class T, class Show>
std::string joined(const std::vector<T>& list, const Show& show) {
  std::string text;
  for (const T& one : list) {
    if (!text.empty()) text += ",";
    text += show(one);
  }
  return text;
}
}  // namespace

bool wants_help(int argc, char** argv) {
  return std::any_of(argv + std::min(argc, 1), argv + argc, [](const char* argument) {
    return std::string(argument) == "--help" || std::string(argument) == "-h";
  });
}

std::string usage_of(const Options& defaults) {
  std::ostringstream out;
  const auto line = [&](const std::string& option, const std::string& what, const std::string& standard) {
    out << "  " << option << std::string(option.size() < 26 ? 26 - option.size() : 1, ' ') << what
        << (standard.empty() ? "" : "; default " + standard) << "\n";
  };
  const auto number = [](int n) { return std::to_string(n); };
  const auto extents = [](const Coord& c) { return message(c[0], ".", c[1], ".", c[2], ".", c[3]); };
  out << "options (lists are separated by commas):\n";
  line("--lattice X.Y.Z.T,...", "even extents", joined(defaults.lattices, extents));
  if (!defaults.precisions.empty())
    line("--precision P,...", "storages: double, float, half (16 bits, fixed point), fp16",
         joined(defaults.precisions, [](Precision p) { return name_of(p); }));
  if (!defaults.link_reals.empty())
    line("--link-reals N,...", "reals of a link: 18, 12 or 8", joined(defaults.link_reals, number));
  if (!defaults.rhs.empty())
    line("--rhs N,...", message("right-hand sides, 1 to ", most_rhs), joined(defaults.rhs, number));
  if (!defaults.Ls.empty())
    line("--ls N,...", message("slices of domain walls, ", least_Ls, " to ", most_Ls),
         joined(defaults.Ls, number));
  line("--threads N", "of each rank", number(defaults.threads));
  line("--seconds S", "of one timing", message(defaults.seconds));
  line("--rounds N", "timings, of which the median counts", number(defaults.rounds));
  if (defaults.is_checkable)
    line("--check", "compare with reference/; status 1 for what differs or is not checked", "");
  line("--json", "print one JSON object and nothing else", "");
  if (defaults.is_checkable) line("--markdown", "print a section of doc/roofline.md", "");
  line("--help", "print this", "");
  return out.str();
}

Options parse_options(int argc, char** argv, const Options& defaults) {
  Options options = defaults;
  const std::string program = argv[0];
  options.command = program.substr(program.find_last_of('/') + 1);
  for (int i = 1; i < argc; ++i) options.command += std::string(" ") + argv[i];
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (set_flag(options, argument)) continue;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (argument == "--check" || argument == "--markdown")
      throw BadArgument(message("option ", argument, " does not apply to solves"));
    if (!takes_value(name)) throw BadArgument(message("unknown option ", argument, "; --help lists them"));
    if (equals != std::string::npos)
      set_option(options, name, argument.substr(equals + 1));
    else if (i + 1 < argc)
      set_option(options, name, argv[++i]);
    else
      throw BadArgument(message("option ", name, " needs a value"));
  }
  if (options.json && options.markdown)
    throw BadArgument("expected one of --json and --markdown, found both");
  return options;
}

std::string combination(Precision precision, int link_reals) {
  return message(name_of(precision), ", ", link_reals, " link reals");
}

void say_skipped(const std::string& what, const std::string& why) {
  if (world()->rank() == 0) std::fprintf(stderr, "skipped: %s: %s\n", what.c_str(), why.c_str());
}

bool is_legal(Precision precision, int link_reals) {
  const bool is_stored = has_link_storage(precision, link_reals);
  if (!is_stored) say_skipped(combination(precision, link_reals), "links are not stored so");
  return is_stored;
}

}  // namespace trellis::bench
