#pragma once
/// Timing of a kernel against the machine's ceilings in the same run, and the table or JSON object that
/// tells.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/json.hpp"
#include "bench/options.hpp"
#include "trellis/solver/solve_report.hpp"

namespace trellis::bench {

struct Result {
  std::string kernel, backend = "cpu";
  Precision precision = Precision::double_precision;
  int link_reals = 18;
  Coord lattice{};
  int rhs = 1, threads = 1, ranks = 1;
  double seconds = 0;                     ///< median, of one application
  double flops = 0, must_move_bytes = 0;  ///< of one application, all ranks
  std::optional<Cost> cost;               ///< of one application: its messages, sums and launches
  double working_set = 0;                 ///< bytes that the sequence touches, all ranks
  double read_bandwidth = 0, peak = 0;    ///< all ranks, medians of the same rounds
  double triad_bandwidth = 0;             ///< likewise
  double error = -1;                      ///< relative to reference/; negative: not checked
  double allowed = -1;                    ///< of `error`, where it is not that of the storage
  Json more;                              ///< further keys of the JSON object, and columns of the table
};

/// Seconds of a clock that only goes forward.
double now();
/// Returns the middle value, the upper one of two. @pre not empty
double median(std::vector<double> values);

/// Times `apply` (median over the rounds), interleaved with the read bandwidth over a buffer of the working
/// set and the FMA peak. Collective over ranks: the slowest rank counts.
void measure(Result& result, const Options& options, const std::function<void()>& apply);

/// The read bandwidth and the peak of all ranks now, for a result that is not measured by `measure`.
void measure_ceilings(Result& result, const Options& options);

/// The errors against reference/ that a check allows, by storage.
struct AllowedErrors {
  double in_double = 1e-14, in_float = 1e-5, in_half = 1e-3, in_fp16 = 5e-3;
};

/// Prints all results on rank 0: a table, or with --json one object {machine, results} with further members,
/// those of `summary`, if there are any.
///
/// Returns the exit status of a benchmark: 0; with --check 1, with a message for each, if a result's error is
/// larger than allowed or a result was not checked. Throws BadArgument if there are no results.
int report(const std::vector<Result>& results, const Options& options, const AllowedErrors& allowed = {},
           const Json& summary = {});

/// A solve as a result: its seconds, flops and bytes, and as further keys solver (`name`), iterations,
/// relative_residual and converged. Its ceilings are measured now, over `working_set` bytes of all ranks.
Result solve_result(const std::string& kernel, const std::string& name, const SolveReport& solve,
                    double working_set, Precision precision, const Options& options);

/// Returns the processor, its cores and the lanes of this build, as JSON objects of benchmarks have them.
Json machine();

/// What a benchmark is to main().
struct Benchmark {
  const char* description;  ///< for --help
  Options defaults;
  int (*run)(const Options&);  ///< returns the exit status
};
/// main() of a benchmark. Status 2, with its message (with --json as {"error": ...} on standard output), if
/// the options are wrong or it throws.
int run_benchmark(const Benchmark& benchmark, int argc, char** argv);

}  // namespace trellis::bench
