#include "bench/gpu/cases.hpp"

#include <algorithm>
#include <limits>

#include "bench/fields.hpp"
#include "bench/measurement.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/memory.hpp"

namespace trellis::gpu_check {

Section::Section(const std::string& name, double seconds)
    : lines_{name}, start_{bench::now()}, limit_{seconds} {}

void Section::run(const std::string& name, const std::function<void()>& body) {
  if (world()->any(bench::now() - start_ > limit_)) {
    ++skipped_;
    return;
  }
  try {
    body();
    cuda::synchronize();  // an error of a kernel belongs to this case
    ++measured_;
  } catch (const std::exception& error) {
    ++failed_;
    lines_.print(Row().text("failed case", name).text("error", error.what()));
  }
}

void Section::differs(const std::string& what, double error, double allowed) {
  ++failed_;
  lines_.print(Row()
                   .text("failed case", what)
                   .text("error", message("differs from the CPU by ", error, " of its size; ", allowed,
                                          " is allowed")));
}

int Section::finish() {
  if (world()->rank() == 0)
    lines_.print(Row()
                     .count("cases measured", measured_)
                     .count("skipped for want of time", skipped_)
                     .count("failed", failed_)
                     .count("same bits", same_bits_)
                     .count("different bits", different_bits_)
                     .number("seconds", bench::now() - start_));
  return failed_ == 0 && measured_ > 0 ? 0 : 1;
}

double Section::copy_rate() {
  if (copy_rate_ == 0) {
    const size_t bytes = is_simulated() ? size_t(1) << 20 : size_t(1) << 30;
    const Memory from(bytes, Backend::cuda);
    Memory to(bytes, Backend::cuda);
    copy_rate_ = 2.0 * double(bytes) / time_of([&] { to.copy_from(from); }).median;
  }
  return copy_rate_;
}

double Section::of_copy_rate(double bytes_a_second) {
  return is_simulated() ? std::numeric_limits<double>::quiet_NaN() : bytes_a_second / copy_rate();
}

bool is_simulated() { return cuda::gpus().at(0).capability == "0.0"; }

Times time_of(const std::function<void()>& call) {
  const double aim = is_simulated() ? 1e-4 : 0.02;
  const int rounds = is_simulated() ? 3 : 7;
  call();
  cuda::synchronize();
  const auto round = [&](int calls) {
    const double start = bench::now();
    for (int i = 0; i < calls; ++i) call();
    cuda::synchronize();
    return (bench::now() - start) / calls;
  };
  const double each = round(1);
  const int calls = std::max(1, std::min(500, int(aim / each)));
  std::vector<double> seconds;
  for (int r = 0; r < rounds; ++r) seconds.push_back(round(calls));
  return {bench::median(seconds), *std::min_element(seconds.begin(), seconds.end())};
}

void fill(SpinorField& field) {
  SpinorField host = field.spec().backend == Backend::cuda ? field.host_copy() : field;
  if (field.geometry().volume() * field.slots() <= int64_t(1) << 18) {
    bench::fill(host);
  } else {  // the sines of many columns take longer than the rest of the check
    const size_t count = size_t(field.geometry().local_volume()) * size_t(field.reals());
    static std::vector<double> canonical;
    if (canonical.size() != count) {
      canonical.resize(count);
      for (size_t i = 0; i < count; ++i) canonical[i] = double((i * 2654435761u) % 2000003u) * 1e-6 - 1.0;
    }
    for (int slot = 0; slot < field.slots(); ++slot) host.from_canonical(canonical.data(), slot);
  }
  if (field.spec().backend == Backend::cuda)
    field.copy_from_host(host);
  else
    field = std::move(host);
}

std::vector<double> numbers(const SpinorField& field) {
  const SpinorField host = field.spec().backend == Backend::cuda ? field.host_copy() : field;
  const size_t each = size_t(field.geometry().local_volume()) * size_t(field.reals());
  std::vector<double> all(each * size_t(field.slots()));
  for (int slot = 0; slot < field.slots(); ++slot) host.to_canonical(&all[size_t(slot) * each], slot);
  return all;
}

std::vector<double> numbers(const GaugeField& U) {
  std::vector<double> links(U.canonical_size());
  U.to_canonical(links.data());
  return links;
}

std::string compared(Section& section, const std::string& what, const std::vector<double>& gpu,
                     const std::vector<double>& cpu, double allowed) {
  const bool is_same = gpu.size() == cpu.size() && std::equal(gpu.begin(), gpu.end(), cpu.begin(),
                                                              [](double a, double b) { return a == b; });
  ++(is_same ? section.same_bits_ : section.different_bits_);
  if (is_same) return "same bits";
  const double error =
      gpu.size() == cpu.size() ? bench::relative_error(gpu, cpu) : std::numeric_limits<double>::infinity();
  if (!(error <= (is_simulated() ? 0.0 : allowed))) section.differs(what, error, allowed);
  char text[32];
  std::snprintf(text, sizeof(text), "%.1e", error);
  return text;
}

double rounding(Precision precision) {
  const bench::AllowedErrors allowed;
  return precision == Precision::double_precision   ? 10 * allowed.in_double
         : precision == Precision::single_precision ? allowed.in_float
         : precision == Precision::half_precision   ? allowed.in_half
                                                    : allowed.in_fp16;
}

Row row_of(Section& section, const std::string& kernel, const Coord& lattice, Precision precision, int reals,
           int columns, const Times& times, double flops, double bytes, const std::string& bits) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Row row;
  row.text("kernel", kernel)
      .text("lattice", to_string(lattice))
      .text("storage", name_of(precision))
      .count("link reals", reals)
      .count("columns", columns)
      .number("us", times.median * 1e6)
      .hidden_number("us best", times.best * 1e6)
      .number("TF/s", flops > 0 ? flops / times.median * 1e-12 : none, 3)
      .number("GB/s", bytes > 0 ? bytes / times.median * 1e-9 : none)
      .number("of copy rate", bytes > 0 ? section.of_copy_rate(bytes / times.median) : none, 2)
      .text("to CPU", bits.empty() ? "-" : bits);
  return row;
}

}  // namespace trellis::gpu_check
