#pragma once
/// Timing of a kernel against the machine's ceilings in the same run, and the table or JSON object that
/// tells.
#include <functional>
#include <string>
#include <vector>

#include "bench/options.hpp"

namespace trellis::bench {

struct Result {
  std::string kernel, backend = "cpu";
  Precision precision = Precision::double_precision;
  int link_reals = 18;
  Coord lattice{};
  int rhs = 1, threads = 1, ranks = 1;
  double seconds = 0;                     ///< median, of one application
  double flops = 0, must_move_bytes = 0;  ///< of one application, all ranks
  double working_set = 0;                 ///< bytes that the sequence touches, all ranks
  double read_bandwidth = 0, peak = 0;    ///< all ranks, medians of the same rounds
  double triad_bandwidth = 0;             ///< likewise
  double error = -1;                      ///< relative to reference/; negative: not checked
};

/// Seconds of a clock that only goes forward.
double now();
/// The middle value, the upper one of two. @pre not empty
double median(std::vector<double> values);

/// Times `apply` (median over the rounds), interleaved with the read bandwidth over a buffer of the working
/// set and the FMA peak. Collective over ranks: the slowest rank counts.
void measure(Result& result, const Options& options, const std::function<void()>& apply);

/// Prints all results on rank 0: a table, or with --json one object {machine, results}.
void report(const std::vector<Result>& results, const Options& options);

/// The errors against reference/ that a check allows, by storage.
struct AllowedErrors {
  double in_double = 1e-14, in_float = 1e-5, in_half = 1e-3, in_fp16 = 5e-3;
};
/// 1, with a message, if a checked result's error is larger; else 0: the exit status of a benchmark.
int status_of_checks(const std::vector<Result>& results, const AllowedErrors& allowed = {});

/// main() of a benchmark: runs it; status 2, with its message, if it throws.
int run_benchmark(int (*bench)(int, char**), int argc, char** argv);

}  // namespace trellis::bench
