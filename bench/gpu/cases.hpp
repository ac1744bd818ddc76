#pragma once
/// The sections of gpu_bench share this: timing, a limit of time, fields on a GPU, comparison with the CPU.
#include <functional>
#include <string>
#include <vector>

#include "bench/gpu/lines.hpp"
#include "trellis/field/gauge_field.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis::gpu_check {

/// They are the seconds of one call: median and best of the rounds.
struct Times {
  double median = 0, best = 0;
};

/// It is one section of the benchmark: its cases, of which one that fails does not end the others.
class Section {
 public:
  /// Begins cases only before `seconds` are over.
  Section(const std::string& name, double seconds);

  /// Runs `body` if there is time left; prints what it throws.
  void run(const std::string& name, const std::function<void()>& body);
  void print(const Row& row) { lines_.print(row); }
  /// Counts a result that is not what the CPU has.
  void differs(const std::string& what, double error, double allowed);
  /// Results are compared with the CPU, which takes long on larger lattices.
  static bool is_compared(const Geometry& geometry) { return geometry.volume() <= 16 * 16 * 16 * 16; }
  /// Tells how many cases ran; returns the exit status.
  int finish();

  /// Returns the bytes a second, read and written, of a copy within the device.
  double copy_rate();
  /// Returns bytes a second over those of a copy; it is not a number on a simulated GPU, whose rates say
  /// nothing.
  double of_copy_rate(double bytes_a_second);

 private:
  Lines lines_;
  double start_, limit_, copy_rate_ = 0;
  int measured_ = 0, skipped_ = 0, failed_ = 0, same_bits_ = 0, different_bits_ = 0;
  friend std::string compared(Section&, const std::string&, const std::vector<double>&,
                              const std::vector<double>&, double);
};

/// Says whether the host simulates the GPU: its times say nothing then.
bool is_simulated();
/// Times calls in a row, waited for at the end of each round. The first call, which may allocate, does not
/// count.
Times time_of(const std::function<void()>& call);

/// Sets numbers of order one in all columns of a field on any backend. Fields beyond the compared size have
/// the same ones in each column, which saves time.
void fill(SpinorField& field);
/// Returns all columns of this rank, on any backend.
std::vector<double> numbers(const SpinorField& field);
std::vector<double> numbers(const GaugeField& U);

/// Returns "same bits", or the relative difference as a text. A difference above `allowed`, or any on a
/// simulated GPU, makes the section fail.
std::string compared(Section& section, const std::string& what, const std::vector<double>& gpu,
                     const std::vector<double>& cpu, double allowed);
/// Returns the difference from the CPU that rounding explains, for a storage.
double rounding(Precision precision);

/// Adds lattice and storage, then time, rates and, where `bits` is not empty, what it says.
Row row_of(Section& section, const std::string& kernel, const Coord& lattice, Precision precision, int reals,
           int columns, const Times& times, double flops, double bytes, const std::string& bits);

/// These are the sections.
void measure_hops(Section& section, const std::vector<int>& extents);
void measure_algebra(Section& section, const std::vector<int>& extents);
void measure_gauge(Section& section, const std::vector<int>& extents);
void measure_gauge_launches(Section& section, const GaugeField& host);  ///< it is a part of measure_gauge
void measure_solves(Section& section, const std::vector<int>& extents);
void measure_trajectory(Section& section, const std::vector<int>& extents);
void measure_multigrid(Section& section, const std::vector<int>& extents);
void measure_glass(Section& section, const std::vector<int>& extents);
void measure_counters(Section& section, const std::vector<int>& extents);
void measure_measurements(Section& section, const std::vector<int>& extents);
void measure_halos(Section& section, const std::vector<int>& extents);

}  // namespace trellis::gpu_check
