/// These tests cover exact sums, linear algebra of many columns, conversions and memory on a GPU. They are a
/// part of the program test_cuda.
#include <bit>
#include <limits>
#include <thread>

#include "tests/support/gpu_comparison.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_fields.hpp"
#include "trellis/device/cuda/partial_sum.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/operator/wilson.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_cuda_sums {

using test::append;
using test::expect_alike;
using test::Numbers;

/// Returns all numbers of a field, which comes to the host once.
Numbers numbers_of(const SpinorField& field) {
  return test::numbers_of(field.spec().backend == Backend::cuda ? field.host_copy() : field);
}

uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }

/// Returns the bits of the value, or what it throws.
std::string shown(const ExactSum& sum) {
  try {
    return message("bits ", bits(sum.value()));
  } catch (const NumericError& error) {
    return error.what();
  }
}

/// Adds the sums of rows of `count` terms each on the GPU to what `sums` has.
void add_on_gpu(const Numbers& terms, int rows, std::vector<ExactSum>& sums) {
  Memory memory = Memory::to_be_written(terms.size() * sizeof(double), Backend::cuda);
  memory.copy_from_host(terms.data(), memory.bytes());
  const size_t count = terms.size() / size_t(rows);
  cuda::reduce_rows(static_cast<const double*>(memory.data()), int(count), count, rows, sums.data());
}

/// Compares sums with ExactSum::add(), in rows that all launches share, and as parts of a sum.
void compare_sums(const Numbers& terms, const std::string& what) {
  for (const int rows : {1, 4}) {
    if (terms.size() % size_t(rows) != 0) continue;
    const size_t count = terms.size() / size_t(rows);
    std::vector<ExactSum> expected(static_cast<size_t>(rows)), found(expected);
    for (size_t row = 0; row < expected.size(); ++row)
      for (size_t i = 0; i < count; ++i) expected[row].add(terms[row * count + i]);
    add_on_gpu(terms, rows, found);
    ExactSum all_expected, all_found;
    all_expected.add(1e3);
    all_found.add(1e3);
    for (size_t row = 0; row < expected.size(); ++row) {
      EXPECT_EQ(shown(found[row]), shown(expected[row])) << what << ", row " << row << " of " << rows;
      EXPECT_EQ(found[row].top, expected[row].top) << what;
      EXPECT_EQ(found[row].is_not_finite, expected[row].is_not_finite) << what;
      EXPECT_EQ(found[row].is_too_large, expected[row].is_too_large) << what;
      all_expected.merge(expected[row]);
      all_found.merge(found[row]);
    }
    EXPECT_EQ(shown(all_found), shown(all_expected)) << what << ", merged";
  }
  if (!::testing::Test::HasFailure() && world()->rank() == 0)
    std::cout << "sums of " << what << ": same bits" << std::endl;
}

class CudaSums : public test::OnGpu {
 protected:
  /// Returns terms with any exponents between the two, and signs.
  static Numbers random_terms(size_t count, int least, int largest, uint64_t seed) {
    test::Random random(seed);
    Numbers terms(count);
    for (double& x : terms) x = std::ldexp(random.symmetric(), least + random.below(largest - least + 1));
    return terms;
  }
  static SpinorField random_field(const LatticePtr& lattice, FieldSpec spec, uint64_t seed) {
    if (spec.backend == Backend::cuda) {
      SpinorField on_gpu(lattice, spec);
      spec.backend = Backend::gpu_emulated;
      on_gpu.copy_from_host(random_field(lattice, spec, seed));
      return on_gpu;
    }
    SpinorField field(lattice, spec);
    test::Random random(seed + 1000 * uint64_t(lattice->geometry().rank()));
    Numbers values(size_t(lattice->geometry().local_volume()) * size_t(spec.reals));
    for (int slot = 0; slot < field.slots(); ++slot) {
      for (double& v : values) v = random.symmetric();
      field.from_canonical(values.data(), slot);
    }
    return field;
  }
  LatticePtr lattice = make_lattice({4, 4, 4, 8});
};

TEST_F(CudaSums, a_million_terms_of_all_sizes) {
  compare_sums(random_terms(1000000, -1074, 959, 11), "a million terms of all sizes");
  compare_sums(random_terms(1000000, -20, 20, 12), "a million terms of like sizes");
}

TEST_F(CudaSums, terms_of_every_kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto with = [](Numbers terms, const Numbers& more) {
    for (size_t i = 0; i < more.size(); ++i) terms[(7919 * (i + 1)) % terms.size()] = more[i];
    return terms;
  };
  const Numbers usual = random_terms(40000, -60, 60, 13);
  compare_sums(Numbers(40000, 0.0), "zeros");
  compare_sums(with(Numbers(40000, -0.0), {0.0}), "zeros of both signs");
  compare_sums(random_terms(40000, -1074, -1000, 14), "subnormal numbers");
  compare_sums(random_terms(40000, 880, 959, 15), "huge numbers");
  compare_sums(Numbers(40000, 0x1p959), "numbers that add up to a larger bin");
  compare_sums(with(usual, {std::nan("")}), "terms with a NaN");
  compare_sums(with(usual, {infinity, -infinity}), "terms with infinities");
  compare_sums(with(usual, {0x1p1000}), "terms with a number that is too large");
  compare_sums(with(Numbers(40000, 0.0), {0x1p-1074}), "the smallest number");
  compare_sums(with(Numbers(40000, 1e-30), {1e30, -1e30}), "terms that cancel");
  Numbers halves(40000);  // these lie halfway between the units of a bin
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = (double(i % 1000) + 0.5) * std::ldexp(i % 2 == 0 ? 1.0 : -1.0, 40 * int(i % 5) - 80);
  compare_sums(halves, "halves of units");
  for (const size_t count : {size_t(1), size_t(3), size_t(127), size_t(128), size_t(129), size_t(4096)})
    compare_sums(random_terms(count, -300, 300, 16 + count), message(count, " terms"));
}

TEST_F(CudaSums, many_rows_at_once) {
  const int rows = 700;
  const Numbers terms = random_terms(size_t(rows) * 500, -100, 100, 17);
  std::vector<ExactSum> found(static_cast<size_t>(rows));
  const cuda::Activity before = cuda::activity();
  add_on_gpu(terms, rows, found);
  EXPECT_EQ(cuda::activity_since(before).kernels, 1);
  for (size_t row = 0; row < found.size(); ++row) {
    ExactSum expected;
    for (size_t i = 0; i < 500; ++i) expected.add(terms[row * 500 + i]);
    EXPECT_EQ(shown(found[row]), shown(expected)) << "row " << row;
  }
}

/// 14 right-hand sides need two launches; 3 slices are columns, too.
TEST_F(CudaSums, linear_algebra_of_many_columns) {
  for (const Precision precision : all_precisions)
    for (const int reals : {24, 6, 10}) {
      const auto run = [&](Backend backend) {
        FieldSpec spec{precision, Subset::even, 14, reals, backend};
        spec.slices = reals == 24 ? 3 : 1;
        Coefficients a, b;
        ComplexCoefficients c, d;
        for (int i = 0; i < spec.rhs; ++i) {
          a.push_back(0.5 + 0.1 * i);
          b.push_back(i % 3 == 0 ? 0.0 : -0.3 * i);
          c.emplace_back(0.2 * i, 0.7);
          d.emplace_back(-0.4, 0.01 * i);
        }
        SpinorField x = random_field(lattice, spec, 21), y = random_field(lattice, spec, 22),
                    z = SpinorField::like(x);
        combine(z, a, x, b, y);
        Numbers all = numbers_of(z);
        append(all, combine_norm2(z, c, x, d, y));
        append(all, numbers_of(z));
        append(all, norm2_each(x));
        for (const std::complex<double>& product : dot_each(x, z))
          append(all, {product.real(), product.imag()});
        update_solution_and_direction(x, a, y, b, z);
        append(all, numbers_of(x));
        append(all, numbers_of(y));
        return all;
      };
      expect_alike(run(Backend::cuda), run(Backend::gpu_emulated),
                   message("14 columns of ", reals, " reals in ", name_of(precision)), 1e-6);
    }
}

TEST_F(CudaSums, conversions_between_all_storages) {
  for (const Precision from : all_precisions)
    for (const Precision to : all_precisions)
      for (const int reals : {24, 6, 5, 8}) {
        FieldSpec spec{from, Subset::full, 3, reals, Backend::gpu_emulated};
        SpinorField source = random_field(lattice, spec, 31);
        // Some sites have zeros, some have very different numbers, and some have numbers that 16 bits do not
        // hold.
        Numbers site(size_t(reals), 0.0);
        source.set_site({0, 0, 0}, 0, site.data());
        for (size_t i = 0; i < site.size(); ++i) site[i] = std::ldexp(i % 2 == 0 ? 1.1 : -0.7, -7 * int(i));
        source.set_site({0, 1, 0}, 0, site.data());
        for (double& x : site) x *= 1e6;
        source.set_site({0, 2, 0}, 1, site.data());
        for (double& x : site) x *= 1e-36;
        source.set_site({1, 0, 0}, 2, site.data());
        spec.precision = to;
        SpinorField expected(lattice, spec);
        convert(expected, source);
        spec.backend = Backend::cuda;
        SpinorField found(lattice, spec);
        spec.precision = from;
        SpinorField on_gpu(lattice, spec);
        on_gpu.copy_from_host(source);
        const cuda::Activity before = cuda::activity();
        convert(found, on_gpu);
        const cuda::Activity spent = cuda::activity_since(before);
        EXPECT_EQ(spent.kernels, 2) << "one for each parity";
        EXPECT_EQ(spent.copies, 0);
        Numbers here = numbers_of(found), there = numbers_of(expected);
        for (Numbers* values : {&here, &there})
          for (double& x : *values) x = std::isfinite(x) ? x : std::copysign(1e300, x);
        expect_alike(here, there, message("from ", name_of(from), " to ", name_of(to), ", ", reals, " reals"),
                     0);
      }
}

TEST_F(CudaSums, fields_that_are_not_finite_show_it_after_conversions) {
  for (const Precision to : {Precision::single_precision, Precision::half_precision}) {
    FieldSpec spec{Precision::double_precision, Subset::even, 1, 24, Backend::gpu_emulated};
    SpinorField source = random_field(lattice, spec, 33);
    Numbers site(24, 1.0);
    site[3] = std::nan("");
    source.set_site({0, 1, 0}, 0, site.data());
    spec.backend = Backend::cuda;
    SpinorField on_gpu(lattice, spec);
    on_gpu.copy_from_host(source);
    spec.precision = to;
    SpinorField found(lattice, spec);
    convert(found, on_gpu);
    EXPECT_TRUE(std::isnan(norm2_each(found)[0])) << name_of(to);
  }
}

TEST_F(CudaSums, columns_are_copied_on_the_device) {
  for (const Precision precision : all_precisions) {
    FieldSpec spec{precision, Subset::full, 3, 24, Backend::cuda};
    const SpinorField in = random_field(lattice, spec, 34);
    spec.rhs = 5;
    SpinorField out = random_field(lattice, spec, 35);
    Numbers expected = numbers_of(out);
    const Numbers from = numbers_of(in);
    const size_t each = from.size() / 3;
    std::copy_n(from.begin() + int64_t(each), 2 * each, expected.begin() + int64_t(2 * each));
    const cuda::Activity before = cuda::activity();
    copy_columns(out, 2, in, 1, 2);
    EXPECT_EQ(cuda::activity_since(before).copies, 0);
    EXPECT_EQ(numbers_of(out), expected) << name_of(precision);
  }
}

/// A sum is one launch and one wait, for one column and for twelve.
TEST_F(CudaSums, sums_take_one_launch_and_one_wait) {
  for (const int columns : {1, 12}) {
    FieldSpec spec{Precision::single_precision, Subset::even, columns, 24, Backend::cuda};
    const SpinorField x = random_field(lattice, spec, 41), y = random_field(lattice, spec, 42);
    SpinorField z = SpinorField::like(x);
    const Coefficients one(size_t(columns), 1.0);
    const auto spent = [](const auto& work) {
      const cuda::Activity before = cuda::activity();
      work();
      return cuda::activity_since(before);
    };
    const cuda::Activity of[] = {spent([&] { (void)norm2_each(x); }), spent([&] { (void)dot_each(x, y); }),
                                 spent([&] { (void)combine_norm2(z, one, x, one, y); })};
    for (const cuda::Activity& a : of) {
      EXPECT_EQ(a.kernels, 1) << columns;
      EXPECT_EQ(a.waits, 1) << columns;
      EXPECT_EQ(a.copied_bytes, 0) << columns;
    }
    const cuda::Activity update = spent([&] { update_solution_and_direction(z, one, z, one, y); });
    EXPECT_EQ(update.kernels, 1) << columns;
    EXPECT_EQ(update.waits, 0) << columns;
  }
}

/// Mixed precision is taken, so that fields are converted, too: nothing goes to the host but sums.
TEST_F(CudaSums, a_solve_copies_nothing_and_waits_twice_an_iteration) {
  const GaugeField U = test::to_product(lattice, test::random_gauge({4, 4, 4, 8}, 51, 0.5));
  WilsonParams params;
  params.mass = 0.2;
  const KernelChoice choice{Precision::double_precision, 12, Backend::cuda, 0};
  const LinearOperatorPtr A = std::make_shared<NormalOperator>(
      std::make_shared<WilsonSchur>(std::make_shared<WilsonMatrix>(U, params, choice), SchurForm::symmetric));
  const OperatorCopies copies(A);
  for (const Precision inner : {Precision::double_precision, Precision::single_precision})
    for (const int columns : {1, 12}) {
      const SpinorField b = random_field(lattice, A->domain(columns), 52);
      const SolverSpec spec = inner == Precision::double_precision
                                  ? SolverSpec(CgSpec{1e-8})
                                  : SolverSpec(MixedPrecisionSpec{CgSpec{1e-8}, inner});
      SpinorField x = SpinorField::like(b);
      (void)solve(spec, copies, x, b);  // it makes the operator's copies
      x = SpinorField::like(b);
      const cuda::Activity before = cuda::activity();
      const SolveReport report = solve(spec, copies, x, b);
      const cuda::Activity spent = cuda::activity_since(before);
      EXPECT_LT(report.largest_residual(), 2e-8);
      const double kernels = double(spent.kernels) / report.iterations,
                   waits = double(spent.waits) / report.iterations;
      if (world()->size() > 1) continue;  // halos are copied
      EXPECT_EQ(spent.copied_bytes, 0) << columns << " columns, inner " << name_of(inner);
      EXPECT_LT(waits, 2.8) << columns << " columns";
      EXPECT_LT(kernels, 10) << columns << " columns";
      std::cout << "CG, inner " << name_of(inner) << ", " << columns << " columns: " << kernels
                << " kernels and " << waits << " waits an iteration, " << report.iterations << " iterations"
                << std::endl;
    }
}

TEST_F(CudaSums, sums_belong_to_the_stream_of_their_launches) {
  FieldSpec spec{Precision::double_precision, Subset::even, 2, 24, Backend::cuda};
  const SpinorField x = random_field(lattice, spec, 43);
  const Coefficients expected = norm2_each(x);
  cuda::Stream stream;
  for (int turn = 0; turn < 20; ++turn) {
    SpinorField y = SpinorField::like(x);
    stream.follow_main();
    {
      const cuda::Stream::Scope scope(stream);
      SpinorField z = x;  // it is made and freed while launches go to the stream
      scale(y, 2.0, z);
      EXPECT_EQ(norm2_each(z), expected);
    }
    stream.precede_main();
    EXPECT_EQ(norm2_each(y)[0], 4 * expected[0]);
  }
}

TEST_F(CudaSums, other_threads_of_the_host_use_the_same_gpu) {
  FieldSpec spec{Precision::double_precision, Subset::even, 1, 24, Backend::cuda};
  const SpinorField x = random_field(lattice, spec, 44);
  const Coefficients expected = norm2_each(x);
  if (world()->size() > 1 || test::is_gpu_simulated()) return;  // their sums are for one thread
  std::thread other([&] {
    const SpinorField y = x;
    EXPECT_EQ(norm2_each(y), expected);
  });
  other.join();
}

TEST_F(CudaSums, memory_of_the_gpu_is_counted) {
  const size_t before = gpu_memory_in_use(), all_before = memory_in_use();
  {
    const Memory memory(12345, Backend::cuda);
    EXPECT_EQ(gpu_memory_in_use(), before + 12345);
    EXPECT_EQ(memory_in_use(), all_before + 12345);
    EXPECT_GE(gpu_memory_peak(), before + 12345);
    std::vector<char> bytes(12345, 'x');
    memory.copy_to_host(bytes.data(), bytes.size());
    EXPECT_EQ(bytes, std::vector<char>(12345, 0)) << "it is zeroed";
  }
  EXPECT_EQ(gpu_memory_in_use(), before);
  EXPECT_EQ(memory_in_use(), all_before);
  EXPECT_THROW(Memory(size_t(1) << 50, Backend::cuda), MemoryError);
  EXPECT_EQ(gpu_memory_in_use(), before);
  const SpinorField x =
      random_field(lattice, {Precision::double_precision, Subset::even, 1, 24, Backend::cuda}, 45);
  EXPECT_GT(norm2_each(x)[0], 0) << "the next launch is not blamed";
}

}  // namespace in_test_cuda_sums
}  // namespace trellis
