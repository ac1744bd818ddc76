/// Fields with any number of reals a site give back what is stored, and linear algebra has the same bits in
/// every layout.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {
namespace in_test_site_field {

const Coord extents{4, 4, 2, 8};
constexpr int rhs = 2;

std::vector<double> random_values(int reals, uint64_t seed) {
  test::Random random(seed);
  std::vector<double> values(size_t(product(extents)) * size_t(reals));
  for (double& v : values) v = random.symmetric() * std::exp(3 * random.symmetric());
  return values;
}

SiteField field(const FieldSpec& spec, uint64_t seed) {
  SiteField x(make_lattice(extents), spec);
  for (int slot = 0; slot < x.slots(); ++slot)
    x.from_canonical(random_values(spec.reals, seed + uint64_t(slot)).data(), slot);
  return x;
}

std::vector<double> numbers(const SiteField& x, int slot) {
  std::vector<double> r(size_t(product(extents)) * size_t(x.reals()));
  x.to_canonical(r.data(), slot);
  return r;
}

std::vector<FieldSpec> layouts(Precision precision, int reals) {
  std::vector<FieldSpec> specs;
  for (const int lanes : {1, 4, 8, 16})
    specs.push_back({precision, Subset::full, rhs, reals, Backend::cpu, lanes});
  specs.push_back({precision, Subset::full, rhs, reals, Backend::gpu_emulated, 0});
  return specs;
}

/// Returns how far a stored number may be from what it should be, in units of the largest of its site.
double rounding(Precision precision) {
  switch (precision) {
    case Precision::double_precision:
      return 0x1p-52;
    case Precision::single_precision:
      return 0x1p-23;
    case Precision::half_precision:
      return 0.501 / 32767;  // the rounding of float comes with it
    default:
      return 0x1p-11;
  }
}

void expect_near_by_sites(const std::vector<double>& found, const std::vector<double>& expected, int reals,
                          double unit, const char* what) {
  double worst = 0;
  for (size_t site = 0; site < expected.size() / size_t(reals); ++site) {
    double largest = 0, difference = 0;
    for (size_t i = site * size_t(reals); i < (site + 1) * size_t(reals); ++i) {
      largest = std::max(largest, std::fabs(expected[i]));
      difference = std::max(difference, std::fabs(found[i] - expected[i]));
    }
    worst = std::max(worst, difference / largest);
  }
  EXPECT_LE(worst, unit) << what << ", " << reals << " reals";
}

constexpr int all_reals[] = {1, 2, 5, 8, 12, 18, 30, 72, 101};

TEST(SiteField, keeps_any_number_of_reals) {
  for (const int reals : all_reals)
    for (const Precision precision : all_precisions)
      for (const FieldSpec& spec : layouts(precision, reals))
        expect_near_by_sites(numbers(field(spec, 3), 1), random_values(reals, 4), reals, rounding(precision),
                             name_of(precision));
}

TEST(SiteField, the_largest_number_of_a_site_keeps_its_sign_in_fixed_point) {
  for (const int reals : all_reals) {  // links of 8, 12 and 18 reals have another full scale
    SiteField x(make_lattice(extents), {.precision = Precision::half_precision, .reals = reals});
    const std::vector<double> one(size_t(reals), 1.0);
    x.set_site({0, 0, 0}, 0, one.data());
    SiteField y = SiteField::like(x);
    scale(y, 1.0, x);
    for (int i = 0; i < reals; ++i) EXPECT_NEAR(y.get({0, 0, 0}, 0, i), 1.0, 1e-6) << reals;
  }
}

TEST(SiteField, linear_algebra_has_the_same_bits_in_every_layout) {
  const Coefficients a{0.75, -1.5}, b{2.0, 0.3};
  const ComplexCoefficients ca{{0.5, -1}, {1, 2}}, cb{{-0.25, 0.1}, {0, 3}};
  for (const int reals : all_reals)
    for (const Precision precision : all_precisions) {
      std::vector<std::vector<double>> first;
      for (const FieldSpec& spec : layouts(precision, reals)) {
        const SiteField x = field(spec, 3), y = field(spec, 13);
        SiteField out = SiteField::like(x), p = y, u = x;
        std::vector<std::vector<double>> found;
        found.push_back(combine_norm2(out, a, x, b, y));
        found.push_back(numbers(out, 1));
        EXPECT_EQ(norm2_each(out), found[0]);
        combine(u, a, u, b, y);  // it works in place
        EXPECT_EQ(numbers(u, 1), found[1]);
        if (reals % 2 == 0) {
          combine(out, ca, x, cb, y);
          found.push_back(numbers(out, 1));
        }
        for (const std::complex<double>& d : dot_each(x, y)) found.push_back({d.real(), d.imag()});
        update_solution_and_direction(u, a, p, b, x);
        found.push_back(numbers(u, 1));
        found.push_back(numbers(p, 0));
        if (first.empty()) first = found;
        EXPECT_TRUE(found == first) << reals << " reals in " << name_of(precision) << ", "
                                    << x.layout().lanes() << " lanes on " << name_of(spec.backend);
      }
    }
}

TEST(SiteField, linear_algebra_is_that_of_its_formulas) {
  for (const int reals : all_reals)
    for (const Precision precision : all_precisions) {
      const FieldSpec spec{precision, Subset::full, rhs, reals};
      const SiteField x = field(spec, 3), y = field(spec, 13);
      const std::vector<double> u = numbers(x, 1), v = numbers(y, 1);
      std::vector<double> sum(u.size());
      double square = 0, size = 0;
      std::complex<double> product = 0;
      for (size_t i = 0; i < u.size(); ++i) {
        sum[i] = 0.75 * u[i] + 2 * v[i];
        square += u[i] * u[i];
        size += std::fabs(u[i] * v[i]);
        if (reals % 2 != 0)
          product += u[i] * v[i];
        else if (i % 2 == 0)
          product += std::conj(std::complex(u[i], u[i + 1])) * std::complex(v[i], v[i + 1]);
      }
      SiteField out = SiteField::like(x);
      combine(out, 0.75, x, 2.0, y);
      expect_near_by_sites(numbers(out, 1), sum, reals, 8 * rounding(precision), "combine");
      const double unit = precision == Precision::double_precision ? 1e-14 : 1e-6;  // 24, 6: float groups
      EXPECT_NEAR(norm2_each(x)[1], square, unit * square);
      EXPECT_NEAR(std::abs(dot_each(x, y)[1] - product), 0, unit * size) << reals << name_of(precision);
    }
}

TEST(SiteField, columns_and_conversions_know_all_reals) {
  for (const int reals : all_reals)
    for (const Precision precision : all_precisions) {
      const SiteField x = field({precision, Subset::full, rhs, reals, Backend::cpu, 8}, 3);
      SiteField column(x.lattice_ptr(), {precision, Subset::full, 1, reals, Backend::cpu, 8});
      copy_columns(column, 0, x, 1, 1);
      EXPECT_TRUE(numbers(column, 0) == numbers(x, 1));
      for (const Precision to : all_precisions)
        for (const FieldSpec& spec : layouts(to, reals)) {
          SiteField found(x.lattice_ptr(), spec), expected(x.lattice_ptr(), spec);
          convert(found, x);
          for (int slot = 0; slot < rhs; ++slot) expected.from_canonical(numbers(x, slot).data(), slot);
          EXPECT_TRUE(numbers(found, 1) == numbers(expected, 1)) << reals << " " << name_of(to);
        }
    }
}

TEST(SiteField, what_makes_no_sense_is_refused) {
  const LatticePtr lattice = make_lattice(extents);
  EXPECT_THROW(SiteField(lattice, {.reals = 0}), BadArgument);
  EXPECT_THROW(SiteField(lattice, {.rhs = 0}), BadArgument);
  SiteField x(lattice, {.reals = 5});
  EXPECT_THROW(combine(x, ComplexCoefficients{{1, 1}}, x, ComplexCoefficients{{0, 1}}, x), BadArgument);
}

}  // namespace in_test_site_field
}  // namespace trellis
