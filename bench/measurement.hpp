#pragma once
/// A kernel is timed against the machine's ceilings in the same run, and a table or JSON object tells the
/// result.
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
  double seconds = 0;                     ///< one application has this median
  double flops = 0, must_move_bytes = 0;  ///< one application takes them on all ranks
  std::optional<Cost> cost;               ///< one application has these messages, sums and launches
  double working_set = 0;                 ///< the sequence touches so many bytes on all ranks
  double read_bandwidth = 0, peak = 0;    ///< they are those of all ranks, medians of the same rounds
  double triad_bandwidth = 0;             ///< it is that of all ranks, too
  double error = -1;                      ///< it is relative to reference/; a negative one is not checked
  double allowed = -1;                    ///< it bounds `error`, where that of the storage does not
  Json more;  ///< they are further keys of the JSON object, and columns of the table
};

/// Returns the seconds of a clock that only goes forward.
double now();
/// Returns the middle value, the upper one of two. @pre values are not empty
double median(std::vector<double> values);

/// Times `apply` (median over the rounds), interleaved with the read bandwidth over a buffer of the working
/// set and the FMA peak. Collective over ranks: the slowest rank counts.
void measure(Result& result, const Options& options, const std::function<void()>& apply);

/// Measures the read bandwidth and the peak of all ranks now, for a result that is not measured by `measure`.
void measure_ceilings(Result& result, const Options& options);

/// A check allows these errors against reference/, by storage.
struct AllowedErrors {
  double in_double = 1e-14, in_float = 1e-5, in_half = 1e-3, in_fp16 = 5e-3;
};

/// Prints all results on rank 0: a table, or with --json one object {machine, results} with further members,
/// those of `summary`, if there are any.
///
/// Returns the exit status of a benchmark: it is 0; with --check it is 1, with a message for each, if a
/// result's error is larger than allowed or a result was not checked. Throws BadArgument if there are no
/// results.
int report(const std::vector<Result>& results, const Options& options, const AllowedErrors& allowed = {},
           const Json& summary = {});

/// Returns a solve as a result: its seconds, flops and bytes, and as further keys solver (`name`),
/// iterations, relative_residual and converged. Its ceilings are measured now, over `working_set` bytes of
/// all ranks.
Result solve_result(const std::string& kernel, const std::string& name, const SolveReport& solve,
                    double working_set, Precision precision, const Options& options);

/// Returns the processor, its cores and the lanes of this build, as JSON objects of benchmarks have them.
Json machine();

/// It is what a benchmark is to main().
struct Benchmark {
  const char* description;  ///< --help shows it
  Options defaults;
  int (*run)(const Options&);  ///< it returns the exit status
};
/// Runs main() of a benchmark. Returns status 2, with its message (with --json as {"error": ...} on standard
/// output), if the options are wrong or it throws.
int run_benchmark(const Benchmark& benchmark, int argc, char** argv);

}  // namespace trellis::bench
