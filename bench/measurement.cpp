#include "bench/measurement.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/machine_speed.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/rank_placement.hpp"

namespace trellis::bench {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

namespace {
double seconds_per_call(const std::function<void()>& apply, int calls) {
  Communicator& comm = *world();
  comm.barrier();
  const double start = now();
  for (int i = 0; i < calls; ++i) apply();
  return comm.maximum(now() - start) / calls;
}

/// Returns how many calls take about `seconds`. The first ones, which make halos, bring code and fields into
/// the caches and find out how to walk (device/launch_trials.hpp), do not count.
int calls_for(double seconds, const std::function<void()>& apply) {
  constexpr int warm_calls = 48;  // four ways take four launches each in three rounds
  constexpr double longest_warming = 6.0;
  int calls = 1, made = 1;
  double each = seconds_per_call(apply, calls), spent = each;
  while (spent < longest_warming && (made < warm_calls || calls * each < seconds / 2)) {
    calls *= 2;
    each = seconds_per_call(apply, calls);
    made += calls;
    spent += calls * each;
  }
  return std::max(1, int(seconds / each));
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}
}  // namespace

Json machine() {
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"lanes_double", default_lanes(Precision::double_precision)},
          {"lanes_float", default_lanes(Precision::single_precision)}};
}

void measure(Result& result, const Options& options, const std::function<void()>& apply) {
  set_thread_count(options.threads);
  const int ranks = world()->size();
  result.threads = options.threads;
  result.ranks = ranks;
  ReadBandwidth bandwidth(size_t(result.working_set / ranks), options.threads);
  const int calls = calls_for(options.seconds, apply);
  const size_t triad_bytes = std::max(size_t(1) << 16, size_t(result.working_set / ranks));
  std::vector<double> seconds, reads, peaks, triads;
  for (int round = 0; round < options.rounds; ++round) {
    world()->barrier();
    reads.push_back(bandwidth.measure(options.seconds / 2) * ranks);
    world()->barrier();
    peaks.push_back(measure_fma_peak(result.precision, options.threads, options.seconds / 4) * ranks);
    world()->barrier();
    triads.push_back(measure_triad_bandwidth(triad_bytes, options.threads, options.seconds / 4) * ranks);
    if (calls > 1) apply();  // the buffers above have emptied the caches
    seconds.push_back(seconds_per_call(apply, calls));
  }
  result.seconds = median(seconds);
  result.read_bandwidth = median(reads);
  result.peak = median(peaks);
  result.triad_bandwidth = median(triads);
}

void measure_ceilings(Result& result, const Options& options) {
  const int ranks = world()->size();
  ReadBandwidth bandwidth(size_t(result.working_set / ranks), options.threads);
  result.threads = options.threads;
  result.ranks = ranks;
  result.read_bandwidth = bandwidth.measure(options.seconds) * ranks;
  result.peak = measure_fma_peak(result.precision, options.threads, options.seconds / 2) * ranks;
}

Result solve_result(const std::string& kernel, const std::string& name, const SolveReport& solve,
                    double working_set, Precision precision, const Options& options) {
  Result r;
  r.kernel = kernel;
  r.precision = precision;
  r.seconds = solve.seconds;
  r.flops = solve.cost.flops;
  r.must_move_bytes = solve.cost.bytes;
  r.cost = solve.cost;
  r.working_set = working_set;
  measure_ceilings(r, options);
  r.more = {{"solver", name},
            {"iterations", solve.iterations},
            {"relative_residual", rounded(solve.largest_residual())},
            {"converged", solve.converged}};
  return r;
}

namespace {
double limit_of(const Result& r, const AllowedErrors& allowed) {
  if (r.allowed >= 0) return r.allowed;
  return r.precision == Precision::double_precision   ? allowed.in_double
         : r.precision == Precision::single_precision ? allowed.in_float
         : r.precision == Precision::half_precision   ? allowed.in_half
                                                      : allowed.in_fp16;
}

/// Says whether the error was checked: a NaN is an error that was found.
bool is_checked(const Result& r) { return !(r.error < 0); }

const char* verdict(const Result& r, const AllowedErrors& allowed) {
  return !is_checked(r) ? "not checked" : r.error <= limit_of(r, allowed) ? "passed" : "failed";
}

/// Counts the faces between nodes of a lattice that all ranks share, of the node with the most; returns none
/// on one node.
std::optional<int64_t> sites_between_nodes(const Coord& lattice) {
  const Communicator& comm = *world();
  const std::vector<int>& nodes = comm.nodes();
  if (product(lattice) == 0 || std::equal(nodes.begin() + 1, nodes.end(), nodes.begin())) return {};
  return surface_between_nodes(lattice, choose_process_grid(lattice, comm.size()), comm);
}

void print_sites_between_nodes(const std::vector<Result>& results) {
  std::vector<Coord> told;
  for (const Result& r : results) {
    if (std::find(told.begin(), told.end(), r.lattice) != told.end()) continue;
    told.push_back(r.lattice);
    if (const auto sites = sites_between_nodes(r.lattice))
      std::printf("%s on ranks %s, %s: %lld sites of faces between nodes, of the node with the most\n",
                  to_string(r.lattice).c_str(),
                  to_string(choose_process_grid(r.lattice, world()->size())).c_str(),
                  name_of(rank_map().order), static_cast<long long>(*sites));
  }
}

Json row_of(const Result& r, const Options& options, const AllowedErrors& allowed) {
  Json row = {{"kernel", r.kernel},         {"backend", r.backend}, {"precision", name_of(r.precision)},
              {"link_reals", r.link_reals}, {"lattice", r.lattice}, {"rhs", r.rhs},
              {"threads", r.threads},       {"ranks", r.ranks}};
  const auto number = [&](const char* key, double value) { row[key] = rounded(value); };
  number("seconds", r.seconds);
  number("gflops", r.flops / r.seconds * 1e-9);
  number("must_move_gbytes_per_second", r.must_move_bytes / r.seconds * 1e-9);
  number("read_bandwidth_gbytes_per_second", r.read_bandwidth * 1e-9);
  if (r.triad_bandwidth > 0) number("triad_bandwidth_gbytes_per_second", r.triad_bandwidth * 1e-9);
  number("peak_gflops", r.peak * 1e-9);
  number("fraction_of_bandwidth", r.must_move_bytes / r.seconds / r.read_bandwidth);
  number("fraction_of_peak", r.flops / r.seconds / r.peak);
  number("flops", r.flops);
  number("bytes", r.must_move_bytes);
  if (r.cost)
    row.update({{"messages", r.cost->message_count()},
                {"message_bytes", int64_t(r.cost->message_bytes())},
                {"sums", r.cost->sums},
                {"launches", r.cost->launches}});
  if (const auto sites = sites_between_nodes(r.lattice)) row["sites_between_nodes"] = *sites;
  if (!r.more.is_null()) row.update(r.more);
  if (options.check) row["check"] = verdict(r, allowed);
  if (options.check && is_checked(r)) number("error_against_reference", r.error);
  return row;
}

void print_json(const std::vector<Result>& results, const Options& options, const AllowedErrors& allowed,
                const Json& summary) {
  Json all = {{"machine", machine()}, {"results", Json::array()}};
  for (const Result& r : results) all["results"].push_back(row_of(r, options, allowed));
  if (!summary.is_null()) all.update(summary);
  std::puts(line_of(all).c_str());
}

std::string shown_error(const Result& r, const Options& options) {
  if (!options.check) return "-";
  if (!is_checked(r)) return "not checked";
  char text[16];
  std::snprintf(text, sizeof(text), "%.1e", r.error);
  return text;
}

void print_table(const std::vector<Result>& results, const Options& options) {
  size_t width = 22;
  for (const Result& r : results) width = std::max(width, r.kernel.size());
  std::printf("%-*s %-7s %5s %-13s %4s %3s %3s %11s %8s %8s %8s %8s %6s %6s %s\n", int(width), "kernel",
              "storage", "links", "lattice", "rhs", "thr", "rnk", "us", "GF/s", "GB/s", "read", "triad",
              "of bw", "of pk", options.is_checkable ? "error" : "");
  for (const Result& r : results) {
    std::printf("%-*s %-7s %5d %-13s %4d %3d %3d %11.1f %8.2f %8.2f %8.2f ", int(width), r.kernel.c_str(),
                name_of(r.precision), r.link_reals, to_string(r.lattice).c_str(), r.rhs, r.threads, r.ranks,
                r.seconds * 1e6, r.flops / r.seconds * 1e-9, r.must_move_bytes / r.seconds * 1e-9,
                r.read_bandwidth * 1e-9);
    r.triad_bandwidth > 0 ? std::printf("%8.2f ", r.triad_bandwidth * 1e-9) : std::printf("%8s ", "-");
    std::printf("%6.2f %6.2f %s", r.must_move_bytes / r.seconds / r.read_bandwidth,
                r.flops / r.seconds / r.peak, options.is_checkable ? shown_error(r, options).c_str() : "");
    for (const auto& [key, value] : r.more.items())
      std::printf("  %s %s", key.c_str(), line_of(value).c_str());
    std::printf("\n");
  }
  print_sites_between_nodes(results);
}

/// Prints a section for doc/measurements.
void print_markdown(const std::vector<Result>& results, const Options& options) {
  const std::time_t today = std::time(nullptr);
  char date[16] = "";
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&today));
  std::printf("`%s`, %s, %s, %u cores, lanes %d double, %d float\n\n", options.command.c_str(), date,
              cpu_model().c_str(), std::thread::hardware_concurrency(),
              default_lanes(Precision::double_precision), default_lanes(Precision::single_precision));
  std::puts(
      "| kernel | storage | link reals | lattice | rhs | threads | ranks | us | GF/s | GB/s | read GB/s | "
      "triad "
      "GB/s | peak GF/s | of read | of triad | of peak |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  for (const Result& r : results) {
    const double rate = r.must_move_bytes / r.seconds;
    std::printf(
        "| %s | %s | %d | %s | %d | %d | %d | %.1f | %.2f | %.2f | %.2f | %.2f | %.1f | %.2f | %.2f | %.2f "
        "|\n",
        r.kernel.c_str(), name_of(r.precision), r.link_reals, to_string(r.lattice).c_str(), r.rhs, r.threads,
        r.ranks, r.seconds * 1e6, r.flops / r.seconds * 1e-9, rate * 1e-9, r.read_bandwidth * 1e-9,
        r.triad_bandwidth * 1e-9, r.peak * 1e-9, rate / r.read_bandwidth, rate / r.triad_bandwidth,
        r.flops / r.seconds / r.peak);
  }
}
}  // namespace

int report(const std::vector<Result>& results, const Options& options, const AllowedErrors& allowed,
           const Json& summary) {
  if (results.empty())
    throw BadArgument("nothing to measure: no combination of the given options is a legal one");
  int status = 0;
  const bool is_root = world()->rank() == 0;
  if (is_root && options.markdown)
    print_markdown(results, options);
  else if (is_root && options.json)
    print_json(results, options, allowed, summary);
  else if (is_root)
    print_table(results, options);
  if (is_root && !options.markdown && !options.json)
    for (const auto& [key, values] : summary.items())
      for (const Json& value : values) std::printf("%s: %s\n", key.c_str(), line_of(value).c_str());
  if (!options.check) return 0;
  for (const Result& r : results) {
    const std::string what =
        message(r.kernel, ", ", combination(r.precision, r.link_reals), ", ", to_string(r.lattice));
    if (is_checked(r) && r.error <= limit_of(r, allowed)) continue;
    status = 1;
    if (!is_root) continue;
    if (is_checked(r))
      std::fprintf(stderr, "check failed: %s: error %.3e against reference exceeds %.0e\n", what.c_str(),
                   r.error, limit_of(r, allowed));
    else
      std::fprintf(stderr, "not checked: %s\n", what.c_str());
  }
  return status;
}

namespace {
/// Prints the text on rank 0; with --json it goes to standard output, too.
int fail(const std::string& text, bool json) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  if (json) std::puts(line_of({{"error", text}}).c_str());
  std::fflush(stdout);
  return 2;
}
}  // namespace

int run_benchmark(const Benchmark& benchmark, int argc, char** argv) {
  const bool is_root = world()->rank() == 0;
  const bool json =
      std::any_of(argv, argv + argc, [](const char* text) { return std::string(text) == "--json"; });
  Options options;
  try {
    options = parse_options(argc, argv, benchmark.defaults, benchmark.description);
  } catch (const HelpWanted& help) {
    if (is_root) std::fputs(help.what(), stdout);
    return 0;
  } catch (const BadArgument& error) {  // the error is the same on all ranks
    return is_root ? fail(error.what(), json) : 2;
  }
  try {
    return benchmark.run(options);
  } catch (const std::exception& error) {
    // Rank 0 prints what all ranks have, and ends the others while they sleep.
    if (!is_root) std::this_thread::sleep_for(std::chrono::seconds(2));
    const int status = fail(error.what(), json && is_root);
    if (world()->size() > 1) abort_all_ranks(status);
    return status;
  }
}

}  // namespace trellis::bench
