#include "trellis/device/site_range.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/dirac/twisted_clover.hpp"
#include "trellis/operator/clover_field.hpp"
#include "trellis/operator/site_diagonal.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {

namespace {
void check(const WilsonParams& p) {
  TRELLIS_REQUIRE(p.xi0 > 0, "bare anisotropy xi0 = ", p.xi0, " must be positive");
  TRELLIS_REQUIRE(p.diagonal() != 0 || p.twisted_mass != 0 || p.has_clover(), "mass = ", p.mass,
                  ": the diagonal 1 + 3 nu/xi0 + mass is zero, and neither a clover term nor "
                  "a twisted mass stands beside it");
}

std::shared_ptr<const SpinorField> in_storage(const SpinorField& clover, const HoppingTerm& hop) {
  FieldSpec spec = hop.make_field(Subset::full, 1).spec();
  spec.reals = 72;
  if (spec == clover.spec()) return std::make_shared<SpinorField>(clover);
  auto result = std::make_shared<SpinorField>(clover.lattice_ptr(), spec);
  convert(*result, clover);
  return result;
}
}  // namespace

WilsonMatrix::WilsonMatrix(const GaugeField& U, const WilsonParams& params, const KernelChoice& choice)
    : U_{std::make_shared<GaugeField>(U)}, params_{params} {
  check(params);
  hop_ = std::make_shared<HoppingTerm>(*U_, params, choice);
  if (!params.has_clover()) return;
  const SpinorField A = trellis::clover_term(*U_, params);
  clover_ = in_storage(A, *hop_);
  if (params.twisted_mass == 0) {
    clover_inverse_ = in_storage(trellis::clover_inverse(A, params), *hop_);
  } else {
    const TwistedInverse inverse = twisted_clover_inverse(A, params);
    clover_inverse_ = in_storage(inverse.C, *hop_);
    twisted_inverse_ = in_storage(inverse.B, *hop_);
  }
}

void WilsonMatrix::twisted_clover(SpinorField& out, const SpinorField& in, int parity, bool is_dagger,
                                  bool is_inverse, const SpinorField* sum) const {
  TRELLIS_REQUIRE(
      out.layout_ptr() == in.layout_ptr() && out.precision() == in.precision() && out.rhs() == in.rhs(),
      "site-diagonal term: fields differ in storage or right-hand sides");
  TwistedCloverCall call;
  call.out = out.raw(parity);
  call.in = in.raw(parity);
  if (sum) call.sum = sum->raw(parity);
  call.P = (is_inverse ? clover_inverse_ : clover_)->raw(parity);
  if (is_inverse) call.Q = twisted_inverse_->raw(parity);
  call.twist = (is_inverse == is_dagger ? 1.0 : -1.0) * params_.twisted_mass;
  call.slots = in.rhs();
  dispatch(in.spec().backend, in.precision(), in.layout().lanes(), [&]<class Layout, class Storage>() {
    launch_twisted_clover<Layout, Storage>(call, SiteRange(in.layout().blocks()));
  });
}

WilsonMatrixPtr WilsonMatrix::converted(Precision precision) const {
  KernelChoice choice = hop_->choice();
  choice.precision = precision;
  if (precision != hop_->choice().precision) choice.lanes = 0;
  return std::make_shared<WilsonMatrix>(*U_, params_, choice);
}

std::complex<double> WilsonMatrix::diagonal(bool is_dagger) const {
  return {params_.diagonal(), is_dagger ? -params_.twisted_mass : params_.twisted_mass};
}

/// Returns (a + i b gamma5)^-1 = (a - i b gamma5) / (a^2 + b^2).
std::complex<double> WilsonMatrix::inverse_diagonal(bool is_dagger) const {
  const auto d = diagonal(is_dagger);
  return std::conj(d) / std::norm(d);
}

void WilsonMatrix::apply_diagonal(SpinorField& out, const SpinorField& in, int parity, bool is_dagger) const {
  if (has_twisted_clover()) return twisted_clover(out, in, parity, is_dagger, false, nullptr);
  multiply_site_diagonal(out, in, parity, clover_.get(), diagonal(is_dagger),
                         SiteRange(in.layout().blocks()));
}

void WilsonMatrix::apply_diagonal_inverse(SpinorField& out, const SpinorField& in, int parity,
                                          bool is_dagger) const {
  if (has_twisted_clover()) return twisted_clover(out, in, parity, is_dagger, true, nullptr);
  apply_diagonal_inverse(out, in, parity, is_dagger, SiteRange(in.layout().blocks()));
}

void WilsonMatrix::apply_diagonal_inverse(SpinorField& out, const SpinorField& in, int parity, bool is_dagger,
                                          const SiteRange& sites) const {
  multiply_site_diagonal(out, in, parity, clover_inverse_.get(), inverse_diagonal(is_dagger), sites);
}

void WilsonMatrix::hop_alone(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                             bool is_dagger) const {
  HopTask task;
  task.is_dagger = is_dagger;
  task.hop_scalar = coefficient;
  hop_->apply(out, parity, in, task);
}

HopTask WilsonMatrix::inverse_hop(double coefficient, bool is_dagger) const {
  HopTask task;
  task.is_dagger = is_dagger;
  if (clover_) {
    task.hop_term = SiteTerm::clover;
    task.clover = clover_inverse_.get();
    task.coefficient = coefficient;
  } else {
    task.hop_scalar = coefficient * inverse_diagonal(is_dagger);
  }
  return task;
}

HopTask WilsonMatrix::inverse_hop_plus(double coefficient, const SpinorField& x, bool is_dagger) const {
  HopTask task = inverse_hop(coefficient, is_dagger);
  task.x = &x;
  task.x_term = SiteTerm::chiral_scalar;
  task.x_scalar = 1.0;
  return task;
}

HopTask WilsonMatrix::hop_plus(double coefficient, const SpinorField& x, bool with_diagonal,
                               bool is_dagger) const {
  HopTask task;
  task.is_dagger = is_dagger;
  task.x = &x;
  task.hop_scalar = coefficient;
  if (with_diagonal && clover_) {
    task.x_term = SiteTerm::clover;
    task.clover = clover_.get();
  } else {
    task.x_term = SiteTerm::chiral_scalar;
    task.x_scalar = with_diagonal ? diagonal(is_dagger) : 1.0;
  }
  return task;
}

void WilsonMatrix::run(SpinorField& out, int parity, const SpinorField& in, const HopTask& task,
                       Coefficients* norm2) const {
  if (norm2 != nullptr)
    *norm2 = hop_->apply_norm2(out, parity, in, task);
  else
    hop_->apply(out, parity, in, task);
}

void WilsonMatrix::apply_inverse_hop(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                                     bool is_dagger) const {
  if (has_twisted_clover()) {
    hop_alone(out, parity, in, coefficient, is_dagger);
    return twisted_clover(out, out, parity, is_dagger, true, nullptr);
  }
  hop_->apply(out, parity, in, inverse_hop(coefficient, is_dagger));
}

void WilsonMatrix::apply_inverse_hop_plus(SpinorField& out, int parity, const SpinorField& in,
                                          double coefficient, const SpinorField& x, bool is_dagger,
                                          Coefficients* norm2) const {
  if (has_twisted_clover()) {
    TRELLIS_REQUIRE(&out != &x, "the operator cannot add to its own argument");
    hop_alone(out, parity, in, coefficient, is_dagger);
    return twisted_clover(out, out, parity, is_dagger, true, &x);
  }
  run(out, parity, in, inverse_hop_plus(coefficient, x, is_dagger), norm2);
}

void WilsonMatrix::apply_hop_plus(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                                  const SpinorField& x, bool with_diagonal, bool is_dagger,
                                  Coefficients* norm2) const {
  if (with_diagonal && has_twisted_clover()) {
    TRELLIS_REQUIRE(&out != &x, "the operator cannot add to its own argument");
    hop_alone(out, parity, in, coefficient, is_dagger);
    return twisted_clover(out, x, parity, is_dagger, false, &out);
  }
  run(out, parity, in, hop_plus(coefficient, x, with_diagonal, is_dagger), norm2);
}

double WilsonMatrix::diagonal_flops(bool is_inverse) const {
  if (has_twisted_clover()) return is_inverse ? 2 * 504.0 + 72.0 : 504.0 + 72.0;
  return clover_ ? 504.0 : params_.twisted_mass != 0 ? 72.0 : 24.0;
}

double WilsonMatrix::diagonal_bytes(bool is_inverse) const {
  const double blocks = has_twisted_clover() && is_inverse ? 2 : clover_ ? 1 : 0;
  return blocks * 72.0 * double(element_bytes(choice().precision));
}

}  // namespace trellis
