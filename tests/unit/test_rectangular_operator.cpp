/// Some operators have a range that is not their domain.
#include <gtest/gtest.h>

#include "tests/unit/solver_test_operators.hpp"
#include "trellis/base/error.hpp"
#include "trellis/solver/methods/bicgstab.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis {
namespace in_test_rectangular_operator {

/// This operator takes the even part of a full field; its dagger fills the odd sites with zeros.
class EvenPart final : public LinearOperator {
 public:
  explicit EvenPart(LatticePtr lattice) : lattice_{std::move(lattice)} {}
  FieldSpec domain(int columns = 1) const override { return {.rhs = columns}; }
  FieldSpec range(int columns = 1) const override { return {.subset = Subset::even, .rhs = columns}; }
  const LatticePtr& domain_lattice() const override { return lattice_; }
  Cost cost(int) const override { return {}; }
  LinearOperatorPtr converted(Precision) const override { throw NotAvailable("EvenPart is double only"); }
  std::string name() const override { return "even part"; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const override {
    if (!is_dagger) return extract_parity(out, in);
    set_zero(out);
    insert_parity(out, in);
  }
  LatticePtr lattice_;
};

SpinorField some_field(const LinearOperator& A, int columns, bool is_of_range) {
  SpinorField f = is_of_range ? A.make_range_field(columns) : A.make_field(columns);
  for (int c = 0; c < columns; ++c)
    test::set_canonical(f, test::random_vector(size_t(f.geometry().local_volume()) * 12, 3 + uint64_t(c)), c);
  return f;
}

TEST(RectangularOperator, restricts_and_prolongs) {
  const LatticePtr lattice = make_lattice({2, 4, 2, 4});
  const EvenPart R(lattice);
  EXPECT_FALSE(R.is_square());
  const SpinorField x = some_field(R, 2, false), y = some_field(R, 2, true);
  SpinorField Rx = R.make_range_field(2), Ry = R.make_field(2);
  ColumnSums sums{.wants_norm2 = true};
  R.apply(Rx, x, sums);
  R.apply_dagger(Ry, y);
  EXPECT_EQ(sums.norm2, norm2_each(Rx));
  const ComplexCoefficients left = dot_each(y, Rx), right = dot_each(Ry, x);  // <y, R x> = <R^dagger y, x>
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(std::abs(left[i] - right[i]), 0, 1e-12);
}

TEST(RectangularOperator, makes_a_square_normal_operator) {
  const LatticePtr lattice = make_lattice({2, 4, 2, 4});
  const auto R = std::make_shared<EvenPart>(lattice);
  const NormalOperator P(R);  // it is the projector on even sites
  EXPECT_TRUE(P.is_square());
  const SpinorField x = some_field(P, 2, false);
  SpinorField Px = P.make_field(2), PPx = P.make_field(2);
  ColumnSums sums{.wants_norm2 = true, .wants_real_dot = true};
  P.apply(Px, x, sums);
  P.apply(PPx, Px);
  EXPECT_EQ(test::canonical_vector(PPx, 1), test::canonical_vector(Px, 1));
  EXPECT_EQ(sums.norm2, norm2_each(Px));
  EXPECT_EQ(sums.real_dot, norm2_each(Px));
}

/// Returns the message of the BadArgument that f throws.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const BadArgument& e) {
    return e.what();
  }
  return "";
}

TEST(RectangularOperator, refuses_other_spaces_in_words) {
  const LatticePtr lattice = make_lattice({2, 4, 2, 4}), other = make_lattice({2, 2, 2, 4});
  const EvenPart R(lattice);
  const SpinorField x = some_field(R, 1, false);
  SpinorField y = R.make_range_field(), full = R.make_field(), two = R.make_range_field(2);
  SpinorField elsewhere(other, R.range());
  ColumnSums dots{.wants_real_dot = true};
  const auto expect = [](const std::string& found, const char* words) {
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  expect(refusal([&] { R.apply(full, x); }), "its result is not of the range of even part: expected even");
  expect(refusal([&] { R.apply(full, y); }), "what it is applied to is not of the domain of even part");
  expect(refusal([&] { R.apply_dagger(y, full); }), "what it is applied to is not of the range of even part");
  expect(refusal([&] { R.apply(elsewhere, x); }), "it lives on another lattice");
  expect(refusal([&] { R.apply(two, x); }), "even part: 1 columns in, 2 out");
  expect(refusal([&] { R.apply(y, x, dots); }),
         "even part: <in, out> is asked for, but domain and range differ");
  const auto A = test::make_positive(lattice, 2);
  SpinorField same = A->make_field();
  expect(refusal([&] { A->apply(same, same); }), "known operator cannot work in place");
  for (const SolverSpec& spec : {SolverSpec(CgSpec{}), SolverSpec(BicgstabSpec{})})
    expect(refusal([&] { solve(spec, R, full, y); }),
           "a system A x = b needs an operator whose range is its domain, which that of even part is not");
  const auto pointer = std::make_shared<EvenPart>(lattice);
  expect(refusal([&] { ShiftedOperator(pointer, 1.0); }), "whose range is its domain");
}

}  // namespace in_test_rectangular_operator
}  // namespace trellis
