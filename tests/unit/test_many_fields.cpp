// threads: 2
/// Products and updates of many fields have the numbers of one field after the other, in every storage,
/// layout and number of columns, and Gram-Schmidt leaves no overlaps.
#include <gtest/gtest.h>

#include "tests/support/random_fields.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/many_fields.hpp"

namespace trellis {
namespace in_test_many_fields {

struct Case {
  Precision precision;
  int reals, slices, rhs, own;  ///< own counts right-hand sides of each field, 1 or rhs
  int count;
};

SpinorField random_field(const LatticePtr& lattice, const FieldSpec& spec, uint64_t seed) {
  FieldSpec exact = spec;
  exact.precision = Precision::double_precision;
  exact.lanes = 1;
  exact.backend = Backend::cpu;
  SpinorField field(lattice, exact);
  test::Random random(seed);
  std::vector<double> site(size_t(field.reals()));
  for (int64_t s = 0; s < field.geometry().local_volume(); ++s)
    for (int slot = 0; slot < field.slots(); ++slot) {
      for (double& x : site) x = random.symmetric();
      const SitePosition at = field.layout().position(site_coord(s, field.geometry().local()));
      if (at.parity >= first_parity(field.subset()) && at.parity <= last_parity(field.subset()))
        field.set_site(at, slot, site.data());
    }
  SpinorField out(lattice, spec);
  convert(out, field);
  return out;
}

std::vector<double> numbers(const SpinorField& field) {
  FieldSpec exact = field.spec();
  exact.precision = Precision::double_precision;
  exact.lanes = 1;
  exact.backend = Backend::cpu;
  SpinorField out(field.lattice_ptr(), exact);
  convert(out, field);
  std::vector<double> all, site(size_t(field.reals()));
  for (int64_t s = 0; s < field.geometry().local_volume(); ++s)
    for (int slot = 0; slot < field.slots(); ++slot) {
      const SitePosition at = out.layout().position(site_coord(s, field.geometry().local()));
      if (at.parity < first_parity(field.subset()) || at.parity > last_parity(field.subset())) continue;
      out.get_site(at, slot, site.data());
      all.insert(all.end(), site.begin(), site.end());
    }
  return all;
}

/// Returns one right-hand side as a field of its own.
SpinorField column(const SpinorField& field, int rhs) {
  FieldSpec spec = field.spec();
  spec.rhs = 1;
  SpinorField out(field.lattice_ptr(), spec);
  copy_columns(out, 0, field, rhs, 1);
  return out;
}

struct Results {
  std::vector<double> field, products, norm2;
};

Results results(const Case& c, Backend backend, int lanes) {
  const LatticePtr lattice = make_lattice({4, 4, 2, 4});
  FieldSpec spec;
  spec.precision = c.precision;
  spec.reals = c.reals;
  spec.slices = c.slices;
  spec.subset = c.slices > 1 ? Subset::odd : Subset::full;
  spec.backend = backend;
  spec.lanes = lanes;
  spec.rhs = c.rhs;
  SpinorField w = random_field(lattice, spec, 7);
  std::vector<SpinorField> fields;
  spec.rhs = c.own;
  for (int j = 0; j < c.count; ++j) fields.push_back(random_field(lattice, spec, uint64_t(10 + j)));
  const FieldList all = first_of(fields, fields.size());
  const FieldCoefficients products = dots_each(all, w);
  Results r;
  test::Random random(5);
  FieldCoefficients a;
  for (int j = 0; j < c.count; ++j) {
    a.emplace_back();
    for (int k = 0; k < c.rhs; ++k) {
      const SpinorField x = column(fields[size_t(j)], c.own == 1 ? 0 : k);
      EXPECT_EQ(products[size_t(j)][size_t(k)], dot(x, column(w, k))) << j << ", column " << k;
      r.products.insert(r.products.end(),
                        {products[size_t(j)][size_t(k)].real(), products[size_t(j)][size_t(k)].imag()});
      a.back().emplace_back(random.symmetric() / 8, random.symmetric() / 8);
    }
  }
  std::vector<SpinorField> expected;
  for (int k = 0; k < c.rhs; ++k) {
    expected.push_back(column(w, k));
    for (int j = 0; j < c.count; ++j)
      combine(expected.back(), ComplexCoefficients{1.0}, expected.back(),
              ComplexCoefficients{-a[size_t(j)][size_t(k)]}, column(fields[size_t(j)], c.own == 1 ? 0 : k));
  }
  SpinorField without = w;
  r.norm2 = subtract_each_norm2(w, a, all);
  subtract_each(without, a, all);
  EXPECT_TRUE(numbers(without) == numbers(w));
  EXPECT_EQ(r.norm2, norm2_each(w));
  r.field = numbers(w);
  for (int k = 0; k < c.rhs; ++k) {
    const std::vector<double> found = numbers(column(w, k)), one = numbers(expected[size_t(k)]);
    if (!is_16_bit(c.precision)) {
      EXPECT_TRUE(found == one) << "column " << k;
      continue;
    }
    // Taken one after the other they are rounded once a term: by 2^-16 of the largest number, or 2^-11 of
    // each.
    const double unit = c.precision == Precision::half_precision ? 0x1p-15 : 0x1p-11;
    double largest = 0, difference = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(one[i]));
      difference = std::max(difference, std::abs(found[i] - one[i]));
    }
    EXPECT_LE(difference, unit * largest * (c.count + 1)) << "column " << k;
  }
  return r;
}

const Case cases[] = {
    {Precision::double_precision, 24, 1, 1, 1, 5},  {Precision::double_precision, 24, 1, 3, 3, 17},
    {Precision::double_precision, 24, 1, 18, 1, 5}, {Precision::double_precision, 6, 1, 2, 1, 20},
    {Precision::double_precision, 24, 4, 2, 1, 3},  {Precision::single_precision, 24, 4, 2, 2, 3},
    {Precision::single_precision, 6, 1, 2, 2, 2},   {Precision::half_precision, 24, 1, 2, 1, 18},
    {Precision::half_precision, 6, 1, 2, 2, 3},     {Precision::fp16_precision, 24, 1, 2, 2, 4},
};

TEST(ManyFields, the_numbers_of_one_after_the_other_on_every_layout) {
  for (const Case& c : cases) {
    SCOPED_TRACE(message("reals ", c.reals, ", precision ", name_of(c.precision), ", fields ", c.count));
    const Results expected = results(c, Backend::cpu, 1);
    for (const auto& [backend, lanes] :
         {std::pair{Backend::cpu, 4}, {Backend::cpu, 8}, {Backend::gpu_emulated, 1}}) {
      const Results found = results(c, backend, lanes);
      EXPECT_EQ(found.products, expected.products) << lanes;
      EXPECT_EQ(found.norm2, expected.norm2) << lanes;
      EXPECT_TRUE(found.field == expected.field) << lanes;
    }
  }
}

/// The vectors agree to 1e-9: one pass leaves overlaps of about 1e-7, two leave rounding.
TEST(ManyFields, twice_is_enough) {
  const LatticePtr lattice = make_lattice({4, 4, 2, 4});
  const SpinorField common = random_field(lattice, {}, 3);
  double worst[3] = {};
  for (int passes = 1; passes <= 2; ++passes) {
    std::vector<SpinorField> basis;
    for (uint64_t k = 0; k < 12; ++k) {
      SpinorField v = random_field(lattice, {}, 20 + k);
      combine(v, 1e-9, v, 1.0, common);
      const FieldList before = first_of(basis, basis.size());
      for (int pass = 0; pass < passes; ++pass) subtract_each(v, dots_each(before, v), before);
      scale(v, 1 / std::sqrt(norm2(v)), v);
      for (const ComplexCoefficients& overlap : dots_each(before, v))
        worst[passes] = std::max(worst[passes], std::abs(overlap[0]));
      basis.push_back(std::move(v));
    }
  }
  EXPECT_GT(worst[1], 1e-10);
  EXPECT_LT(worst[2], 2e-15);
}

TEST(ManyFields, what_does_not_fit_is_refused) {
  const LatticePtr lattice = make_lattice({4, 4, 2, 4});
  FieldSpec spec;
  spec.rhs = 3;
  SpinorField w(lattice, spec);
  spec.rhs = 2;
  const SpinorField two(lattice, spec), full(lattice, {});
  spec.rhs = 1;
  spec.subset = Subset::odd;
  const SpinorField odd(lattice, spec);
  EXPECT_THROW(dots_each({&two}, w), BadArgument);
  EXPECT_THROW(dots_each({&odd}, w), BadArgument);
  EXPECT_THROW(dots_each({&full, &w}, w), BadArgument);
  EXPECT_THROW(subtract_each(w, {}, {&full}), BadArgument);
  EXPECT_THROW(subtract_each_norm2(w, {}, {}), BadArgument);
  EXPECT_TRUE(dots_each({}, w).empty());
  EXPECT_NO_THROW(subtract_each(w, {}, {}));
}

}  // namespace in_test_many_fields
}  // namespace trellis
