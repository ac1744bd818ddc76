/// This program makes a field orthogonal to k others: one after the other, and in one pass each for products
/// and updates (field/many_fields.hpp). It prints processor seconds of the thread and their ratio beside the
/// ratio of the bytes.
///
/// usage: many_fields L k [columns [repetitions]]
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "trellis/field/many_fields.hpp"

using namespace trellis;

namespace {
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

template <class F>
double shortest(int repetitions, const F& f) {
  double best = 1e300;
  for (int i = 0; i < repetitions; ++i) {
    const double start = cpu_seconds();
    f();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}
}  // namespace

int main(int count, char** words) {
  const int L = count > 1 ? std::atoi(words[1]) : 8, k = count > 2 ? std::atoi(words[2]) : 8;
  const int columns = count > 3 ? std::atoi(words[3]) : 1, repetitions = count > 4 ? std::atoi(words[4]) : 20;
  const auto lattice = make_lattice({L, L, L, L});
  for (const Precision precision :
       {Precision::double_precision, Precision::single_precision, Precision::half_precision}) {
    FieldSpec spec;
    spec.precision = precision;
    spec.subset = Subset::odd;
    const std::vector<SpinorField> x(static_cast<size_t>(k), SpinorField(lattice, spec));
    const FieldList all = first_of(x, x.size());
    SpinorField one(lattice, spec);
    spec.rhs = columns;
    SpinorField w(lattice, spec);
    const ComplexCoefficients unit(1, 1.0), c(1, 0.5);
    const FieldCoefficients a(x.size(), ComplexCoefficients(size_t(columns), 0.5));
    const double dots_before = shortest(repetitions, [&] {
      for (int r = 0; r < columns; ++r)
        for (const SpinorField& v : x) dot_each(v, one);
    });
    const double updates_before = shortest(repetitions, [&] {
      for (int r = 0; r < columns; ++r)
        for (const SpinorField& v : x) combine(one, unit, one, c, v);
    });
    const double dots = shortest(repetitions, [&] { dots_each(all, w); });
    const double updates = shortest(repetitions, [&] { subtract_each(w, a, all); });
    const double batches = (k + 15) / 16, C = columns;
    std::printf(
        "%-6s dots %8.1f -> %8.1f us, %.2f (bytes %.2f); updates %8.1f -> %8.1f us, %.2f (bytes %.2f)\n",
        name_of(precision), 1e6 * dots_before, 1e6 * dots, dots_before / dots, 2 * C * k / (k + batches * C),
        1e6 * updates_before, 1e6 * updates, updates_before / updates, 3 * C * k / (k + 2 * batches * C));
  }
  return 0;
}
