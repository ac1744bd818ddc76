/// This section times the linear algebra of fermion fields: what solvers call between their operators.
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis::gpu_check {

namespace {
/// It is told each operation on one kind of field, with the call that is timed.
using Tell =
    std::function<void(const char* name, double fields, double flops, const std::function<void()>& call)>;

/// Returns the results of all operations on one kind of field, and times them where `tell` is given; `fields`
/// counts how many are read or written, and `flops` those of each real number.
std::vector<double> run_all(const LatticePtr& lattice, const FieldSpec& spec, const Tell& tell) {
  SpinorField x(lattice, spec), y(lattice, spec), z(lattice, spec);
  fill(x);
  fill(y);
  const Coefficients a(size_t(spec.rhs), 0.75), b(size_t(spec.rhs), -0.375);
  std::vector<double> all;
  const auto add = [&](const Coefficients& values) { all.insert(all.end(), values.begin(), values.end()); };
  tell("copy", 2, 0, [&] { copy(z, x); });
  tell("combine", 3, 3, [&] { combine(z, a, x, b, y); });
  add(numbers(z));
  Coefficients sums;
  tell("combine and norm", 3, 5, [&] { sums = combine_norm2(z, a, x, b, y); });
  add(sums);
  tell("norm", 1, 2, [&] { sums = norm2_each(x); });
  add(sums);
  ComplexCoefficients products;
  tell("dot product", 2, 4, [&] { products = dot_each(x, z); });
  for (const auto& product : products) add({product.real(), product.imag()});
  // These coefficients leave the fields of the size that they have, however often they are called.
  const Coefficients small(size_t(spec.rhs), 1e-3);
  update_solution_and_direction(z, small, y, small, x);
  add(numbers(z));
  add(numbers(y));
  tell("update solution and direction", 5, 4, [&] { update_solution_and_direction(z, small, y, small, x); });
  return all;
}

void algebra(Section& section, const LatticePtr& lattice, Precision precision, int columns) {
  const std::string name = message("linear algebra, ", name_of(precision), ", ", columns, " columns");
  section.run(name, [&] {
    FieldSpec spec;
    spec.precision = precision;
    spec.subset = Subset::even;
    spec.rhs = columns;
    spec.backend = Backend::cuda;
    const double reals = double(lattice->geometry().volume()) / 2 * 24 * columns;
    const double bytes = double(SpinorField(lattice, spec).bytes());
    struct Timed {
      const char* name;
      double flops, bytes;
      Times times;
    };
    std::vector<Timed> timed;
    const std::vector<double> gpu =
        run_all(lattice, spec, [&](const char* what, double fields, double flops, const auto& call) {
          timed.push_back({what, flops * reals, fields * bytes, time_of(call)});
        });
    std::string bits;
    if (section.is_compared(lattice->geometry())) {
      spec.backend = Backend::cpu;
      bits = compared(section, name, gpu,
                      run_all(lattice, spec, [](const char*, double, double, const auto& call) { call(); }),
                      rounding(precision));
    }
    for (const Timed& t : timed)
      section.print(row_of(section, t.name, lattice->geometry().lattice(), precision, 0, columns, t.times,
                           t.flops, t.bytes, bits));
  });
}

/// Times the way from double to another storage and back, as the reliable updates of a mixed-precision solver
/// go it.
void conversion(Section& section, const LatticePtr& lattice, Precision precision, int columns) {
  const std::string name = message("convert to ", name_of(precision), ", ", columns, " columns");
  section.run(name, [&] {
    FieldSpec spec;
    spec.subset = Subset::even;
    spec.rhs = columns;
    spec.backend = Backend::cuda;
    SpinorField from(lattice, spec);
    spec.precision = precision;
    SpinorField to(lattice, spec);
    fill(from);
    const Times there = time_of([&] { convert(to, from); }), back = time_of([&] { convert(from, to); });
    std::string bits;
    if (section.is_compared(lattice->geometry())) {
      const auto converted = [&](FieldSpec as) {
        SpinorField low(lattice, as);
        as.precision = Precision::double_precision;
        SpinorField high(lattice, as);
        fill(high);
        convert(low, high);
        std::vector<double> all = numbers(low);
        convert(high, low);
        const std::vector<double> again = numbers(high);
        all.insert(all.end(), again.begin(), again.end());
        return all;
      };
      FieldSpec on_cpu = spec;
      on_cpu.backend = Backend::cpu;
      bits = compared(section, name, converted(spec), converted(on_cpu), 0);
    }
    const double bytes = double(from.bytes() + to.bytes());
    for (const auto& [what, times] : {std::pair{"convert from double", there}, {"convert to double", back}})
      section.print(
          row_of(section, what, lattice->geometry().lattice(), precision, 0, columns, times, 0, bytes, bits));
  });
}
}  // namespace

void measure_algebra(Section& section, const std::vector<int>& extents) {
  for (const int L : extents) {
    const LatticePtr lattice = make_lattice({L, L, L, L});
    for (const int columns : {1, 12})
      for (const Precision precision : all_precisions) algebra(section, lattice, precision, columns);
    for (const int columns : {1, 12})
      for (const Precision precision : {Precision::single_precision, Precision::half_precision})
        conversion(section, lattice, precision, columns);
  }
}

}  // namespace trellis::gpu_check
