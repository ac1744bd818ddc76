#include "bench/measurement.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "trellis/comm/communicator.hpp"
#include "trellis/device/machine_speed.hpp"
#include "trellis/device/threads.hpp"

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

/// Calls that take about `seconds`. The first ones, which make halos, bring code and fields into the caches
/// and find out how to walk (device/cpu/walk_trial.hpp), do not count.
int calls_for(double seconds, const std::function<void()>& apply) {
  constexpr int warm_calls = 32;
  constexpr double longest_warming = 1.0;
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

namespace {
void print_json(const std::vector<Result>& results) {
  std::ostringstream out;
  out.precision(6);
  out << "{\"machine\": {\"cpu\": \"" << cpu_model()
      << "\", \"cores\": " << std::thread::hardware_concurrency()
      << ", \"lanes_double\": " << default_lanes(Precision::double_precision)
      << ", \"lanes_float\": " << default_lanes(Precision::single_precision) << "}, \"results\": [";
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& r = results[i];
    const Coord& l = r.lattice;
    out << (i ? ", " : "") << "{\"kernel\": \"" << r.kernel << "\", \"backend\": \"" << r.backend
        << "\", \"precision\": \"" << name_of(r.precision) << "\", \"link_reals\": " << r.link_reals
        << ", \"lattice\": [" << l[0] << ", " << l[1] << ", " << l[2] << ", " << l[3]
        << "], \"rhs\": " << r.rhs << ", \"threads\": " << r.threads << ", \"ranks\": " << r.ranks
        << ", \"seconds\": " << r.seconds << ", \"gflops\": " << r.flops / r.seconds * 1e-9
        << ", \"must_move_gbytes_per_second\": " << r.must_move_bytes / r.seconds * 1e-9
        << ", \"read_bandwidth_gbytes_per_second\": " << r.read_bandwidth * 1e-9
        << ", \"triad_bandwidth_gbytes_per_second\": " << r.triad_bandwidth * 1e-9
        << ", \"peak_gflops\": " << r.peak * 1e-9
        << ", \"fraction_of_bandwidth\": " << r.must_move_bytes / r.seconds / r.read_bandwidth
        << ", \"fraction_of_peak\": " << r.flops / r.seconds / r.peak;
    if (r.error >= 0) out << ", \"error_against_reference\": " << r.error;
    out << "}";
  }
  out << "]}";
  std::puts(out.str().c_str());
}

void print_table(const std::vector<Result>& results) {
  std::printf("%-22s %-7s %5s %-13s %4s %3s %3s %9s %8s %8s %8s %8s %6s %6s %s\n", "kernel", "storage",
              "links", "lattice", "rhs", "thr", "rnk", "us", "GF/s", "GB/s", "read", "triad", "of bw",
              "of pk", "error");
  for (const Result& r : results) {
    std::printf("%-22s %-7s %5d %-13s %4d %3d %3d %9.1f %8.2f %8.2f %8.2f %8.2f %6.2f %6.2f ",
                r.kernel.c_str(), name_of(r.precision), r.link_reals, to_string(r.lattice).c_str(), r.rhs,
                r.threads, r.ranks, r.seconds * 1e6, r.flops / r.seconds * 1e-9,
                r.must_move_bytes / r.seconds * 1e-9, r.read_bandwidth * 1e-9, r.triad_bandwidth * 1e-9,
                r.must_move_bytes / r.seconds / r.read_bandwidth, r.flops / r.seconds / r.peak);
    r.error >= 0 ? std::printf("%.1e\n", r.error) : std::printf("-\n");
  }
}
/// A section of doc/roofline.md.
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

void report(const std::vector<Result>& results, const Options& options) {
  if (world()->rank() != 0) return;
  if (options.markdown) return print_markdown(results, options);
  options.json ? print_json(results) : print_table(results);
}

int status_of_checks(const std::vector<Result>& results, const AllowedErrors& allowed) {
  for (const Result& r : results) {
    const double limit = r.precision == Precision::double_precision   ? allowed.in_double
                         : r.precision == Precision::single_precision ? allowed.in_float
                         : r.precision == Precision::half_precision   ? allowed.in_half
                                                                      : allowed.in_fp16;
    if (!(r.error <= limit)) {
      std::fprintf(stderr, "check failed: %s: error %.3e against reference exceeds %.0e\n", r.kernel.c_str(),
                   r.error, limit);
      return 1;
    }
  }
  return 0;
}

int run_benchmark(int (*bench)(int, char**), int argc, char** argv) {
  try {
    return bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}

}  // namespace trellis::bench
