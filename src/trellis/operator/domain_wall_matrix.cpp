#include <cmath>

#include "trellis/field/dispatch.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/operator/domain_wall.hpp"

namespace trellis {

namespace {
void check(const DomainWallParams& p) {
  TRELLIS_REQUIRE(p.Ls >= 2 && p.Ls <= largest_Ls, "Ls = ", p.Ls, " is not in 2..", largest_Ls);
  TRELLIS_REQUIRE(p.M5 > 0 && p.M5 < 2, "M5 = ", p.M5, " is not between 0 and 2");
  for (const auto* list : {&p.b5, &p.c5})
    TRELLIS_REQUIRE(list->size() == 1 || int(list->size()) == p.Ls, list == &p.b5 ? "b5" : "c5", " has ",
                    list->size(), " values, not 1 or Ls = ", p.Ls);
}

/// The adjoint in the exchanged order of slices: row j of it is column Ls - 1 - j.
CyclicBidiagonal adjoint(const CyclicBidiagonal& T, int Ls) {
  CyclicBidiagonal A{};
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int j = 0; j < Ls; ++j) {
      A.u[chirality][j] = T.u[chirality][Ls - 1 - j];
      A.v[chirality][j] = T.v[chirality][(Ls - j) % Ls];
    }
  return A;
}

/// diagonal(s) + off(s) L
template <class Diagonal, class Off>
CyclicBidiagonal shift_matrix(const DomainWallParams& p, const Diagonal& diagonal, const Off& off) {
  CyclicBidiagonal T{};
  for (int chirality = 0; chirality < 2; ++chirality)
    for (int i = 0; i < p.Ls; ++i) {
      const int s = chirality == 0 ? i : p.Ls - 1 - i;
      T.u[chirality][i] = diagonal(s);
      T.v[chirality][i] = i == 0 ? -p.mass * off(s) : off(s);
    }
  return T;
}

CyclicInverse inverse(const CyclicBidiagonal& T, int Ls) {
  CyclicInverse inverse{};
  for (int chirality = 0; chirality < 2; ++chirality) {
    double product = 1;
    for (int i = 0; i < Ls; ++i) {
      const double u = T.u[chirality][i], v = T.v[chirality][i];
      if (u == 0) throw NumericError(message("1 + b5 (4 - M5) vanishes on slice ", i, ": choose another M5"));
      inverse.p[chirality][i] = 1 / u;
      inverse.q[chirality][i] = -v / u;
      product *= -v / u;
      inverse.w[chirality][i] = product;
    }
    if (std::abs(1 - product) < 1e-12)
      throw NumericError("the diagonal part of the domain-wall operator is singular: choose another M5");
    for (int i = 0; i < Ls; ++i) inverse.w[chirality][i] /= 1 - product;
  }
  return inverse;
}

WilsonParams kernel_params(const DomainWallParams& p) {
  WilsonParams w;
  w.mass = -p.M5;
  w.boundary = p.boundary;
  return w;
}
}  // namespace

DomainWallMatrix::DomainWallMatrix(const GaugeField& U, const DomainWallParams& params,
                                   const KernelChoice& choice)
    : U_{std::make_shared<GaugeField>(U)}, params_{params} {
  check(params);
  hop_ = std::make_shared<HoppingTerm>(*U_, kernel_params(params), choice);
  const double A = params.wilson_diagonal();
  M_[0] = shift_matrix(
      params, [&](int s) { return 1 + A * params.b(s); }, [&](int s) { return A * params.c(s) - 1; });
  B_[0] = shift_matrix(
      params, [&](int s) { return params.b(s); }, [&](int s) { return params.c(s); });
  M_[1] = adjoint(M_[0], params.Ls);
  B_[1] = adjoint(B_[0], params.Ls);
  for (int i = 0; i < 2; ++i) M_inverse_[i] = inverse(M_[i], params.Ls);
}

DomainWallMatrixPtr DomainWallMatrix::converted(Precision precision) const {
  KernelChoice choice = hop_->choice();
  choice.precision = precision;
  if (precision != hop_->choice().precision) choice.lanes = 0;
  return std::make_shared<DomainWallMatrix>(*U_, params_, choice);
}

FifthDimensionCall DomainWallMatrix::fifth_call(const SpinorField& out, const SpinorField& in, int parity,
                                                FifthMatrix T, bool is_dagger) const {
  TRELLIS_REQUIRE(out.layout_ptr() == in.layout_ptr() && out.precision() == in.precision() &&
                      out.rhs() == in.rhs() && out.slices() == params_.Ls && in.slices() == params_.Ls,
                  "domain-wall operator with Ls = ", params_.Ls, " applied to fields with ", in.slices(),
                  " and ", out.slices(), " slices, or of different storage");
  FifthDimensionCall call;
  call.out = out.raw(parity);
  call.in = in.raw(parity);
  call.slices = params_.Ls;
  call.rhs = in.rhs();
  call.is_dagger = is_dagger;
  const auto product = [&](const CyclicBidiagonal& matrix) {
    call.has_after = true;
    call.after = matrix;
  };
  switch (T) {
    case FifthMatrix::M:
      product(M_[is_dagger]);
      break;
    case FifthMatrix::B:
      product(B_[is_dagger]);
      break;
    case FifthMatrix::K:  // B M^-1, and M^-dagger B^dagger
      if (is_dagger) {
        call.has_before = true;
        call.before = B_[1];
      } else {
        product(B_[0]);
      }
      [[fallthrough]];
    case FifthMatrix::M_inverse:
      call.has_inverse = true;
      call.inverse = M_inverse_[is_dagger];
      break;
    case FifthMatrix::D_minus_diagonal:
      product(shift_matrix(
          params_, [&](int s) { return 1 - params_.c(s) * params_.wilson_diagonal(); },
          [](int) { return 0.0; }));
      break;
    case FifthMatrix::half_c5:
      product(shift_matrix(
          params_, [&](int s) { return params_.c(s) / 2; }, [](int) { return 0.0; }));
  }
  return call;
}

namespace {
void launch(const SpinorField& field, const FifthDimensionCall& call, const SiteRange& sites) {
  dispatch(field.spec().backend, field.precision(), field.layout().lanes(),
           [&]<class Layout, class Storage>() { launch_fifth_dimension<Layout, Storage>(call, sites); });
}
}  // namespace

void DomainWallMatrix::apply_fifth(SpinorField& out, const SpinorField& in, int parity, FifthMatrix T,
                                   bool is_dagger) const {
  launch(out, fifth_call(out, in, parity, T, is_dagger), SiteRange(out.layout().blocks()));
}

void DomainWallMatrix::apply_hop_then_fifth(SpinorField& out, int parity, const SpinorField& in,
                                            FifthMatrix T, bool is_dagger, double coefficient,
                                            const SpinorField* x) const {
  FifthDimensionCall call = fifth_call(out, out, parity, T, is_dagger);
  call.scale = coefficient;
  call.has_x = x != nullptr;
  if (x) call.x = x->raw(parity);
  HopTask task;
  task.is_dagger = is_dagger;
  task.then = [&](const SiteRange& sites) { launch(out, call, sites); };
  hop_->apply(out, parity, in, task);
}

void DomainWallMatrix::apply_hop_plus(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                                      const SpinorField& x, bool is_dagger) const {
  HopTask task;
  task.is_dagger = is_dagger;
  task.x = &x;
  task.x_term = SiteTerm::chiral_scalar;
  task.x_scalar = 1.0;
  task.hop_scalar = coefficient;
  hop_->apply(out, parity, in, task);
}

void DomainWallMatrix::apply_D_minus(SpinorField& out, const SpinorField& in) const {
  TRELLIS_REQUIRE(&out != &in, "D_- cannot work in place");
  SpinorField diagonal = SpinorField::like(in);
  for (int parity = 0; parity < 2; ++parity) {
    apply_fifth(diagonal, in, parity, FifthMatrix::D_minus_diagonal, false);
    apply_hop_then_fifth(out, parity, in, FifthMatrix::half_c5, false, 1.0, &diagonal);
  }
}

/// Per real: a product 3 (multiplication and fma), the inverse 5.
double DomainWallMatrix::fifth_flops(FifthMatrix T) const {
  switch (T) {
    case FifthMatrix::M_inverse:
      return 24 * 5.0;
    case FifthMatrix::K:
      return 24 * 8.0;
    default:
      return 24 * 3.0;
  }
}

/// Per slice and real of a dense Ls x Ls matrix, 2 Ls - 1.
double DomainWallMatrix::dense_fifth_flops() const { return 24.0 * (2 * params_.Ls - 1); }

}  // namespace trellis
