#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/thread_limit.hpp"
#include "trellis/field/hop_links.hpp"

namespace trellis::bench {

namespace {
/// Returns the number that `text` is, nothing else, if `is_right` takes it.
template <class Number, class Test>
Number to_number(const std::string& text, const std::string& expected, const Test& is_right) {
  Number value{};
  if (!CLI::detail::lexical_cast(text, value) || !is_right(value))
    throw BadArgument(message("expected ", expected, ", found '", text, "'"));
  return value;
}

auto integer(int least, int most) {
  return [least, most](const std::string& text) {
    return to_number<int>(text, message("an integer from ", least, " to ", most),
                          [&](int n) { return n >= least && n <= most; });
  };
}

double to_seconds(const std::string& text) {
  return to_number<double>(text, "a number above 0 and up to 3600",
                           [](double s) { return s > 0 && s <= 3600; });
}

int to_link_reals(const std::string& text) {
  return to_number<int>(text, "one of 18, 12, 8", [](int n) { return n == 18 || n == 12 || n == 8; });
}

Coord to_lattice(const std::string& text, int least) {
  const std::vector<std::string> parts = CLI::detail::split(text, '.');
  if (parts.size() != Nd)
    throw BadArgument(message("expected four extents such as 16.16.16.16, found '", text, "'"));
  Coord c;
  std::transform(parts.begin(), parts.end(), c.begin(), integer(least, 512));
  if (std::any_of(c.begin(), c.end(), [](int extent) { return extent > 1 && extent % 2 != 0; }))
    throw BadArgument(message("expected even extents, found '", text, "'"));
  return c;
}

std::string shown(int n) { return std::to_string(n); }
std::string shown(Precision precision) { return name_of(precision); }
std::string shown(const Coord& c) { return message(c[0], ".", c[1], ".", c[2], ".", c[3]); }

std::string shown(double x) { return message(x); }

/// Returns the message that `read` raises for a text that it does not take, and nothing for one that it
/// takes.
template <class Read>
auto check(const Read& read) {
  return [read](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const BadArgument& error) {
      return error.what();
    }
    return "";
  };
}

/// Adds a list without repetitions, unless the benchmark does not take it.
template <class T, class Read>
void add_list(CLI::App& app, const std::string& name, const std::string& form, std::vector<T>& list,
              const Read& read, const std::string& description) {
  if (list.empty()) return;
  std::string defaults;
  for (const T& one : list) defaults += (defaults.empty() ? "=" : ",") + shown(one);
  const auto set = [&list, read](const std::vector<std::string>& words) {
    list.clear();
    for (const std::string& word : words)
      if (std::find(list.begin(), list.end(), read(word)) == list.end()) list.push_back(read(word));
  };
  app.add_option_function<std::vector<std::string>>(name, set, description)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(check(read))
      ->option_text(form + ",..." + defaults);
}

void add_options(CLI::App& app, Options& options) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  const auto to_extents = [least = options.least_extent](const std::string& text) {
    return to_lattice(text, least);
  };
  add_list(app, "--lattice", "X.Y.Z.T", options.lattices, to_extents,
           options.least_extent == 1 ? "even extents, or 1" : "even extents");
  add_list(app, "--precision", "P", options.precisions, precision_by_name,
           "storages: double, float, half (16 bits, fixed point), fp16");
  add_list(app, "--link-reals", "N", options.link_reals, to_link_reals, "reals of a link: 18, 12 or 8");
  add_list(app, "--rhs", "N", options.rhs, integer(1, 256), "right-hand sides, 1 to 256");
  add_list(app, "--ls", "N", options.Ls, integer(2, 32), "slices of domain walls, 2 to 32");
  app.add_option("--threads", options.threads, "threads of each rank")
      ->check(check(integer(1, most_threads())))
      ->type_name("N");
  app.add_option("--seconds", options.seconds, "seconds of one timing")
      ->check(check(to_seconds))
      ->type_name("S");
  app.add_option("--rounds", options.rounds, "timings, of which the median counts")
      ->check(check(integer(1, 1000)))
      ->type_name("N");
  for (const OwnOption& own : options.own) {
    if (own.form.empty()) {
      app.add_flag_callback(
          own.name, [read = own.read] { read(""); }, own.description);
      continue;
    }
    app.add_option_function<std::string>(own.name, own.read, own.description)
        ->check(check(own.read))
        ->option_text(own.form + (own.standard.empty() ? "" : "=" + own.standard));
  }
  CLI::Option* json = app.add_flag("--json", options.json, "print one JSON object and nothing else");
  if (!options.is_checkable) return;
  app.add_flag("--check", options.check,
               "compare with reference/; status 1 for what differs or is not checked");
  app.add_flag("--markdown", options.markdown, "print a section for doc/measurements")->excludes(json);
}
}  // namespace

OwnOption own_integer(const std::string& name, int& value, int least, int most,
                      const std::string& description) {
  return {name, "N", shown(value), description,
          [&value, read = integer(least, most)](const std::string& text) { value = read(text); }};
}

namespace {
template <class T, class Read>
OwnOption own_list(const std::string& name, const std::string& form, std::vector<T>& values, const Read& read,
                   const std::string& description) {
  std::string standard;
  for (const T& value : values) standard += (standard.empty() ? "" : ",") + shown(value);
  return {name, form + ",...", standard, description, [&values, read](const std::string& text) {
            std::vector<T> found;
            for (const std::string& word : CLI::detail::split(text, ',')) found.push_back(read(word));
            values = found;
          }};
}

auto real(double least, double most) {
  return [least, most](const std::string& text) {
    return to_number<double>(text, message("a number from ", least, " to ", most),
                             [&](double x) { return x >= least && x <= most; });
  };
}
}  // namespace

OwnOption own_integers(const std::string& name, std::vector<int>& values, int least, int most,
                       const std::string& description) {
  return own_list(name, "N", values, integer(least, most), description);
}

OwnOption own_reals(const std::string& name, std::vector<double>& values, double least, double most,
                    const std::string& description) {
  return own_list(name, "X", values, real(least, most), description);
}

OwnOption own_real(const std::string& name, double& value, double least, double most,
                   const std::string& description) {
  return {name, "X", shown(value), description,
          [&value, read = real(least, most)](const std::string& text) { value = read(text); }};
}

OwnOption own_text(const std::string& name, const std::string& form, std::string& value,
                   const std::string& description) {
  return {name, form, value, description, [&value](const std::string& text) {
            if (text.empty()) throw BadArgument("expected a text that is not empty");
            value = text;
          }};
}

OwnOption own_flag(const std::string& name, bool& value, const std::string& description) {
  return {name, "", "", description, [&value](const std::string&) { value = true; }};
}

OwnOption own_extents(const std::string& name, Coord& value, const std::string& standard,
                      const std::string& description) {
  return {name, "X.Y.Z.T", standard, description, [&value](const std::string& text) {
            const std::vector<std::string> parts = CLI::detail::split(text, '.');
            if (parts.size() != Nd)
              throw BadArgument(message("expected four extents such as 4.4.4.4, found '", text, "'"));
            std::transform(parts.begin(), parts.end(), value.begin(), integer(1, 512));
          }};
}

Options parse_options(int argc, char** argv, const Options& defaults, const std::string& description) {
  Options options = defaults;
  std::vector<std::string> words(argv, argv + argc);
  words[0].erase(0, words[0].find_last_of('/') + 1);
  options.command = CLI::detail::join(words, " ");
  CLI::App app(description + " Lists are separated by commas.", words[0]);
  app.allow_extras();
  app.get_formatter()->label("Usage", "usage");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw HelpWanted(app.help());
  } catch (const CLI::ArgumentMismatch&) {
    throw BadArgument(message("option ", words.back(), " needs a value"));
  } catch (const CLI::ParseError& error) {
    throw BadArgument(error.what());
  }
  if (!app.remaining().empty())
    throw BadArgument(
        message("this benchmark has no option ", app.remaining()[0], "; --help lists those that it has"));
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
