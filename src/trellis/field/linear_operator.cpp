#include "trellis/field/linear_operator.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"

namespace trellis {

namespace {
/// Gives the spec the number of lanes that 0 stands for.
FieldSpec in_full(FieldSpec spec) {
  spec.lanes = lanes_of_launches(spec.backend, spec.precision, spec.lanes);
  return spec;
}

std::string describe(const FieldSpec& spec) {
  constexpr const char* subsets[] = {"even", "odd", "full"};
  return message(subsets[int(spec.subset)], ", ", spec.reals, " reals a site, ", spec.slices, " slices, ",
                 name_of(spec.precision), ", ", in_full(spec).lanes, " lanes, ", name_of(spec.backend));
}

void require_kind(const SpinorField& field, const LatticePtr& lattice, const FieldSpec& expected,
                  const char* what, const char* space, const LinearOperator& A) {
  TRELLIS_REQUIRE(field.lattice_ptr() == lattice, what, " is not of the ", space, " of ", A.name(),
                  ": it lives on another lattice");
  TRELLIS_REQUIRE(in_full(field.spec()) == in_full(expected), what, " is not of the ", space, " of ",
                  A.name(), ": expected ", describe(expected), ", found ", describe(field.spec()));
}
}  // namespace

void require_in_domain(const LinearOperator& A, const SpinorField& field, const char* what) {
  require_kind(field, A.domain_lattice(), A.domain(field.rhs()), what, "domain", A);
}

void require_in_range(const LinearOperator& A, const SpinorField& field, const char* what) {
  require_kind(field, A.range_lattice(), A.range(field.rhs()), what, "range", A);
}

void require_square(const LinearOperator& A) {
  TRELLIS_REQUIRE(A.is_square(),
                  "a system A x = b needs an operator whose range is its domain, which that of ", A.name(),
                  " is not (domain: ", describe(A.domain()), "; range: ", describe(A.range()), ")");
}

void ColumnSums::book(const SpinorField& field, int fields, int launches) {
  cost += cost_of_passes(field.lattice(), field.spec(), fields, 2, launches, 1);
}

bool LinearOperator::is_square() const {
  return domain_lattice() == range_lattice() && in_full(domain()) == in_full(range());
}

void LinearOperator::run(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums& sums) const {
  TRELLIS_REQUIRE(&out != &in, name(), " cannot work in place");
  TRELLIS_REQUIRE(out.rhs() == in.rhs(), name(), ": ", in.rhs(), " columns in, ", out.rhs(), " out");
  is_dagger ? require_in_range(*this, in, "what it is applied to")
            : require_in_domain(*this, in, "what it is applied to");
  is_dagger ? require_in_domain(*this, out, "its result") : require_in_range(*this, out, "its result");
  TRELLIS_REQUIRE(!sums.wants_real_dot || is_square(), name(),
                  ": <in, out> is asked for, but domain and range differ");
  sums.norm2.clear();
  sums.real_dot.clear();
  sums.cost = {};
  multiply(out, in, is_dagger, sums);
  if (sums.wants_norm2 && sums.norm2.empty()) {
    sums.norm2 = norm2_each(out);
    sums.book(out, 1, 1);
  }
  if (sums.wants_real_dot && sums.real_dot.empty()) {
    sums.real_dot = real_dot_each(in, out);
    sums.book(out, 2, 1);
  }
}

void LinearOperator::apply(SpinorField& out, const SpinorField& in, ColumnSums& sums) const {
  run(out, in, false, sums);
}

void LinearOperator::apply(SpinorField& out, const SpinorField& in) const {
  ColumnSums none;
  run(out, in, false, none);
}

void LinearOperator::apply_dagger(SpinorField& out, const SpinorField& in, ColumnSums& sums) const {
  run(out, in, true, sums);
}

void LinearOperator::apply_dagger(SpinorField& out, const SpinorField& in) const {
  ColumnSums none;
  run(out, in, true, none);
}

}  // namespace trellis
