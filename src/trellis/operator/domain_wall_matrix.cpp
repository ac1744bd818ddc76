#include <cmath>

#include "trellis/device/launch_count.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/dirac/hop_then_fifth.hpp"
#include "trellis/operator/domain_wall.hpp"
#include "trellis/operator/tiled_spinor.hpp"

namespace trellis {

namespace {
bool is_finite(const std::complex<double>& z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

void check(const DomainWallParams& p) {
  TRELLIS_REQUIRE(p.Ls >= 2 && p.Ls <= largest_Ls, "Ls = ", p.Ls, " is not in 2..", largest_Ls);
  TRELLIS_REQUIRE(p.M5 > 0 && p.M5 < 2, "M5 = ", p.M5, " is not between 0 and 2");
  TRELLIS_REQUIRE(p.nu > 0 && std::isfinite(p.nu), "nu = ", p.nu, " is not positive and finite");
  TRELLIS_REQUIRE(p.xi0 > 0 && std::isfinite(p.xi0), "bare anisotropy xi0 = ", p.xi0,
                  " is not positive and finite");
  for (const auto* list : {&p.b5, &p.c5})
    TRELLIS_REQUIRE(list->size() == 1 || int(list->size()) == p.Ls, list == &p.b5 ? "b5" : "c5", " has ",
                    list->size(), " values, not 1 or Ls = ", p.Ls);
  TRELLIS_REQUIRE(std::isfinite(p.mass), "the mass of domain walls is ", p.mass);
  for (int s = 0; s < p.Ls; ++s)
    TRELLIS_REQUIRE(is_finite(p.b(s)) && is_finite(p.c(s)), "b5 = ", p.b(s), ", c5 = ", p.c(s), " on slice ",
                    s, " are not finite");
  for (const std::complex<double>& phase : p.boundary)
    TRELLIS_REQUIRE(is_finite(phase), "a boundary phase is ", phase.real(), " + ", phase.imag(), " i");
}

size_t index(FifthMatrix T, bool is_dagger) { return 2 * size_t(T) + size_t(is_dagger); }
}  // namespace

DomainWallMatrix::DomainWallMatrix(const GaugeField& U, const DomainWallParams& params,
                                   const KernelChoice& choice)
    : U_{std::make_shared<GaugeField>(U)}, params_{params} {
  check(params);
  hop_ = std::make_shared<HoppingTerm>(*U_, params.kernel(), choice);
  const CyclicBidiagonal M = fifth_matrix_M(params), B = fifth_matrix_B(params);
  const CyclicBidiagonal M_dagger = adjoint(M), B_dagger = adjoint(B);
  fifth_.resize(2 * fifth_matrices);
  const auto set = [&](FifthMatrix T, const FifthCoefficients& plain, const FifthCoefficients& dagger) {
    fifth_[index(T, false)] = plain;
    fifth_[index(T, true)] = dagger;
  };
  set(FifthMatrix::M, product(M), product(M_dagger));
  set(FifthMatrix::B, product(B), product(B_dagger));
  set(FifthMatrix::M_inverse, inverse(M), inverse(M_dagger));
  set(FifthMatrix::K, inverse_then(M, B), product_then_inverse(B_dagger, M_dagger));
  const auto set_diagonal = [&](FifthMatrix T, const auto& value) {
    std::vector<std::complex<double>> diagonal;
    for (int s = 0; s < params.Ls; ++s) diagonal.push_back(value(s));
    const CyclicBidiagonal D = fifth_diagonal(params.Ls, diagonal);
    set(T, product(D), product(adjoint(D)));
  };
  set_diagonal(FifthMatrix::D_minus_diagonal,
               [&](int s) { return 1.0 - params.c(s) * params.wilson_diagonal(); });
  set_diagonal(FifthMatrix::half_c5, [&](int s) { return params.c(s) / 2.0; });
  set_diagonal(FifthMatrix::axial_sign, [&](int s) { return 2 * s < params.Ls ? -1.0 : 1.0; });
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
  call.coefficients = fifth_[index(T, is_dagger)];
  return call;
}

namespace {
void launch(const SpinorField& field, const FifthDimensionCall& call, const SiteRange& sites) {
  dispatch(field.spec().backend, field.precision(), field.layout().lanes(),
           [&]<class Layout, class Storage>() { launch_fifth_dimension<Layout, Storage>(call, sites); });
}

/// Launches a hop and the fifth dimension as one, and returns true, where that is possible. It counts as the
/// two launches in whose place it stands.
bool launch_together(const SpinorField& out, const WilsonHopCall& hop, const FifthDimensionCall& call,
                     const SiteRange& sites) {
  bool is_done = false;
  {
    const PartOfLaunch part;
    dispatch(out.spec().backend, out.precision(), out.layout().lanes(), [&]<class Layout, class Storage>() {
      if constexpr (std::is_base_of_v<GpuLayout, Layout>)
        is_done = launch_hop_then_fifth<Layout, Storage>(hop, call, sites);
    });
  }
  if (is_done) count_launches(2);
  return is_done;
}
}  // namespace

void DomainWallMatrix::apply_fifth(SpinorField& out, const SpinorField& in, int parity, FifthMatrix T,
                                   bool is_dagger) const {
  apply_fifth(out, in, parity, T, is_dagger, SiteRange(out.layout().blocks()));
}

void DomainWallMatrix::apply_fifth(SpinorField& out, const SpinorField& in, int parity, FifthMatrix T,
                                   bool is_dagger, const SiteRange& sites) const {
  const FifthDimensionCall call = fifth_call(out, in, parity, T, is_dagger);
  if (!launches_can_be_cut(out.spec().backend)) return launch(out, call, sites);
  const size_t working_set = out.bytes() + (&in == &out ? 0 : in.bytes());
  // A part is one of the slices of a walk whose next pass takes it (device/cpu/walk/slice_walk.hpp).
  const OutputUse use = sites.size() < out.layout().blocks() ? OutputUse::soon : OutputUse::later;
  walk_in_faster_tiles(tiled(out, parity), sites, false, use, working_set,
                       [&](const SiteRange& tile, const RawField& place) {
                         FifthDimensionCall own = call;
                         own.out = place;
                         launch(out, own, tile);
                       });
}

HopTask DomainWallMatrix::hop_then_fifth(const SpinorField& out, int parity, FifthMatrix T, bool is_dagger,
                                         double coefficient, const SpinorField* x, TileNorms* norms) const {
  FifthDimensionCall call = fifth_call(out, out, parity, T, is_dagger);
  call.coefficients = scaled(call.coefficients, coefficient);
  call.has_x = x != nullptr;
  if (x) call.x = x->raw(parity);
  HopTask task;
  task.is_dagger = is_dagger;
  task.then = [&out, call, norms](const SiteRange& tile, const RawField& place) {
    FifthDimensionCall own = call;
    own.in = own.out = place;
    launch(out, own, tile);
    if (norms) norms->add(tile, place);
  };
  if (launches_can_be_cut(out.spec().backend)) return task;  // tiles in the cache are as good
  task.together = [&out, call, norms](const WilsonHopCall& hop, const SiteRange& sites) {
    if (!launch_together(out, hop, call, sites)) return false;
    if (norms) norms->add(sites, hop.out);
    return true;
  };
  return task;
}

HopTask DomainWallMatrix::hop_plus(double coefficient, const SpinorField& x, bool is_dagger,
                                   TileNorms* norms) {
  HopTask task;
  task.is_dagger = is_dagger;
  task.x = &x;
  task.x_term = SiteTerm::chiral_scalar;
  task.x_scalar = 1.0;
  task.hop_scalar = coefficient;
  if (norms) task.then = [norms](const SiteRange& tile, const RawField& place) { norms->add(tile, place); };
  return task;
}

void DomainWallMatrix::apply_hop_then_fifth(SpinorField& out, int parity, const SpinorField& in,
                                            FifthMatrix T, bool is_dagger, double coefficient,
                                            const SpinorField* x) const {
  hop_->apply(out, parity, in, hop_then_fifth(out, parity, T, is_dagger, coefficient, x));
}

void DomainWallMatrix::apply_hop_plus(SpinorField& out, int parity, const SpinorField& in, double coefficient,
                                      const SpinorField& x, bool is_dagger) const {
  hop_->apply(out, parity, in, hop_plus(coefficient, x, is_dagger));
}

void DomainWallMatrix::apply_D_minus(SpinorField& out, const SpinorField& in) const {
  TRELLIS_REQUIRE(&out != &in, "D_- cannot work in place");
  SpinorField diagonal = SpinorField::like(in);
  for (int parity = 0; parity < 2; ++parity) {
    apply_fifth(diagonal, in, parity, FifthMatrix::D_minus_diagonal, false);
    apply_hop_then_fifth(out, parity, in, FifthMatrix::half_c5, false, 1.0, &diagonal);
  }
}

/// A real takes 3 flop for a product (multiplication and fma), 5 for the inverse and 8 for both; with complex
/// coefficients these are 7, 11 and 18.
double DomainWallMatrix::fifth_flops(FifthMatrix T) const {
  const bool is_complex = fifth_[index(T, false)].is_complex;
  switch (T) {
    case FifthMatrix::M_inverse:
      return 24 * (is_complex ? 11.0 : 5.0);
    case FifthMatrix::K:
      return 24 * (is_complex ? 18.0 : 8.0);
    default:
      return 24 * (is_complex ? 7.0 : 3.0);
  }
}

}  // namespace trellis
