#include "trellis/field/linear_algebra.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/global_values.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/linalg/linear_algebra.hpp"

namespace trellis {

namespace {

void require_alike(const SpinorField& a, const SpinorField& b, const char* what) {
  TRELLIS_REQUIRE(a.layout_ptr() == b.layout_ptr() && a.spec() == b.spec(), what,
                  ": fields differ in lattice, subset, storage or number of right-hand sides");
}

template <class F>
void dispatch_field(const SpinorField& x, F&& f) {
  dispatch(x.spec().backend, x.precision(), x.layout().lanes(), f);
}

/// Returns the coefficients of right-hand sides as [slot][re, im].
std::vector<double> interleaved(const SpinorField& field, const Coefficients& a) {
  std::vector<double> r;
  for (const double c : a)
    for (int slice = 0; slice < field.slices(); ++slice) r.insert(r.end(), {c, 0.0});
  return r;
}
std::vector<double> interleaved(const SpinorField& field, const ComplexCoefficients& a) {
  std::vector<double> r;
  for (const auto& c : a)
    for (int slice = 0; slice < field.slices(); ++slice) r.insert(r.end(), {c.real(), c.imag()});
  return r;
}
std::vector<double> per_slot(const SpinorField& field, const Coefficients& a) {
  std::vector<double> r;
  for (const double c : a) r.insert(r.end(), size_t(field.slices()), c);
  return r;
}

void run_combine(SpinorField& out, const std::vector<double>& a, const SpinorField& x,
                 const std::vector<double>& b, const SpinorField* y, bool is_complex, ExactSum* norms) {
  require_alike(out, x, "combine");
  if (y) require_alike(out, *y, "combine");
  TRELLIS_REQUIRE(int(a.size()) == 2 * out.slots(), "combine: ", a.size() / (2 * size_t(out.slices())),
                  " coefficients for ", out.rhs(), " right-hand sides");
  TRELLIS_REQUIRE(!is_complex || out.reals() % 2 == 0, "combine: complex coefficients need complex numbers, ",
                  "but a site has ", out.reals(), " reals, an odd number");
  for (int parity = first_parity(out.subset()); parity <= last_parity(out.subset()); ++parity) {
    CombineCall call;
    call.out = out.raw(parity);
    call.x = x.raw(parity);
    if (y) call.y = y->raw(parity);
    call.a = a.data();
    call.b = b.data();
    call.is_complex = is_complex;
    call.has_y = y != nullptr;
    call.norms = norms;
    call.reals = out.reals();
    call.slots = out.slots();
    dispatch_field(out, [&]<class Layout, class Storage>() {
      launch_combine<Layout, Storage>(call, SiteRange(out.layout().blocks(parity)));
    });
  }
}

void run_dot(const SpinorField& x, const SpinorField* y, ExactSum* re, ExactSum* im) {
  for (int parity = first_parity(x.subset()); parity <= last_parity(x.subset()); ++parity) {
    DotCall call;
    call.x = x.raw(parity);
    if (y) call.y = y->raw(parity);
    call.re = re;
    call.im = im;
    call.reals = x.reals();
    call.slots = x.slots();
    dispatch_field(x, [&]<class Layout, class Storage>() {
      launch_dot<Layout, Storage>(call, SiteRange(x.layout().blocks(parity)));
    });
  }
}

}  // namespace

Coefficients global_values(const SpinorField& x, const std::vector<ExactSum>& slots) {
  const size_t slices = size_t(x.slices());
  std::vector<ExactSum> sums(slots.size() / slices);
  for (size_t i = 0; i < slots.size(); ++i) sums[i / slices].merge(slots[i]);
  x.lattice().communicator().sum(sums.data(), int(sums.size()));
  Coefficients r;
  for (const ExactSum& s : sums) r.push_back(s.value());
  return r;
}

void set_zero(SpinorField& x) { x.memory().set_zero(); }

void copy(SpinorField& out, const SpinorField& in) {
  require_alike(out, in, "copy");
  out.memory().copy_from(in.memory());
}

void scale(SpinorField& out, double a, const SpinorField& x) {
  run_combine(out, interleaved(out, Coefficients(out.rhs(), a)), x, {}, nullptr, false, nullptr);
}
void combine(SpinorField& out, double a, const SpinorField& x, double b, const SpinorField& y) {
  combine(out, Coefficients(out.rhs(), a), x, Coefficients(out.rhs(), b), y);
}
void combine(SpinorField& out, const Coefficients& a, const SpinorField& x, const Coefficients& b,
             const SpinorField& y) {
  run_combine(out, interleaved(out, a), x, interleaved(out, b), &y, false, nullptr);
}
void combine(SpinorField& out, const ComplexCoefficients& a, const SpinorField& x,
             const ComplexCoefficients& b, const SpinorField& y) {
  run_combine(out, interleaved(out, a), x, interleaved(out, b), &y, true, nullptr);
}
Coefficients combine_norm2(SpinorField& out, const Coefficients& a, const SpinorField& x,
                           const Coefficients& b, const SpinorField& y) {
  std::vector<ExactSum> sums(out.slots());
  run_combine(out, interleaved(out, a), x, interleaved(out, b), &y, false, sums.data());
  return global_values(out, sums);
}
Coefficients combine_norm2(SpinorField& out, const ComplexCoefficients& a, const SpinorField& x,
                           const ComplexCoefficients& b, const SpinorField& y) {
  std::vector<ExactSum> sums(out.slots());
  run_combine(out, interleaved(out, a), x, interleaved(out, b), &y, true, sums.data());
  return global_values(out, sums);
}

void update_solution_and_direction(SpinorField& x, const Coefficients& alpha, SpinorField& p,
                                   const Coefficients& beta, const SpinorField& r) {
  require_alike(x, p, "update_solution_and_direction");
  require_alike(x, r, "update_solution_and_direction");
  TRELLIS_REQUIRE(int(alpha.size()) == x.rhs() && int(beta.size()) == x.rhs(), alpha.size(), " and ",
                  beta.size(), " coefficients for ", x.rhs(), " right-hand sides");
  const std::vector<double> alpha_of_slot = per_slot(x, alpha), beta_of_slot = per_slot(x, beta);
  for (int parity = first_parity(x.subset()); parity <= last_parity(x.subset()); ++parity) {
    UpdateCall call;
    call.x = x.raw(parity);
    call.r = r.raw(parity);
    call.p = p.raw(parity);
    call.alpha = alpha_of_slot.data();
    call.beta = beta_of_slot.data();
    call.reals = x.reals();
    call.slots = x.slots();
    dispatch_field(x, [&]<class Layout, class Storage>() {
      launch_update<Layout, Storage>(call, SiteRange(x.layout().blocks(parity)));
    });
  }
}

Coefficients norm2_each(const SpinorField& x) {
  std::vector<ExactSum> sums(x.slots());
  run_dot(x, nullptr, sums.data(), nullptr);
  return global_values(x, sums);
}

namespace {
/// Returns |scale x|^2 of the columns that `wanted` has, and 0 of the others.
Coefficients scaled_norm2(const SpinorField& x, double scale, const std::vector<bool>& wanted) {
  Coefficients factor(wanted.size(), 0.0);
  for (size_t i = 0; i < factor.size(); ++i)
    if (wanted[i]) factor[i] = scale;
  SpinorField scaled = SpinorField::like(x);
  return combine_norm2(scaled, factor, x, Coefficients(factor.size(), 0.0), x);
}
}  // namespace

Coefficients norm_each(const SpinorField& x) {
  constexpr double least = 1e-250;  // a smaller |x|^2 may have underflowed
  const size_t n = size_t(x.rhs());
  Coefficients norm2, norm(n, 0.0);
  std::vector<bool> is_open(n, true);
  const auto take = [&](double scale) {
    for (size_t i = 0; i < n; ++i) {
      if (!is_open[i]) continue;
      norm[i] = std::sqrt(norm2[i]) / scale;
      is_open[i] = norm2[i] < least;
    }
    return std::find(is_open.begin(), is_open.end(), true) == is_open.end();
  };
  bool is_in_range = true;  // the sum is so on all ranks alike
  try {
    norm2 = norm2_each(x);
    is_in_range = std::all_of(norm2.begin(), norm2.end(), [](double v) { return std::isfinite(v); });
  } catch (const NumericError&) {
    is_in_range = false;
  }
  if (is_in_range && take(1)) return norm;
  for (const double scale : is_in_range ? std::vector{0x1p900} : std::vector{0x1p-600, 1.0, 0x1p900}) {
    norm2 = scaled_norm2(x, scale, is_open);
    if (take(scale)) break;
  }
  return norm;
}

ComplexCoefficients dot_each(const SpinorField& x, const SpinorField& y) {
  require_alike(x, y, "dot");
  const int n = x.rhs();
  std::vector<ExactSum> sums(size_t(2) * x.slots());
  run_dot(x, &y, sums.data(), sums.data() + x.slots());
  const Coefficients v = global_values(x, sums);
  ComplexCoefficients r;
  for (int i = 0; i < n; ++i) r.emplace_back(v[i], v[n + i]);
  return r;
}

Coefficients real_dot_each(const SpinorField& x, const SpinorField& y) {
  Coefficients parts;
  for (const auto& v : dot_each(x, y)) parts.push_back(v.real());
  return parts;
}

double norm2(const SpinorField& x) {
  double sum = 0;
  for (const double n : norm2_each(x)) sum += n;
  return sum;
}

std::complex<double> dot(const SpinorField& x, const SpinorField& y) {
  std::complex<double> sum = 0;
  for (const auto& d : dot_each(x, y)) sum += d;
  return sum;
}

}  // namespace trellis
