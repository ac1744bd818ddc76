#include "trellis/operator/staggered_derivative.hpp"

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/host_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/dirac/staggered_derivative.hpp"

namespace trellis {

namespace {
/// Copies all right-hand sides of `in` (even) to the slots first.. of the even sites of `out`.
void copy_slots(SpinorField& out, int first, const SpinorField& in) {
  const RawField to = out.raw(0), from = in.raw(0);
  const size_t slot_reals = 6 * size_t(in.layout().lanes()), n = size_t(in.rhs());
  for_each_index(in.layout().blocks(), [&](int block) {
    std::memcpy(
        static_cast<double*>(to.data) + (size_t(block) * size_t(to.slots) + size_t(first)) * slot_reals,
        static_cast<const double*>(from.data) + size_t(block) * n * slot_reals,
        n * slot_reals * sizeof(double));
  });
}
}  // namespace

StaggeredLinkDerivative::StaggeredLinkDerivative(StaggeredMatrixPtr matrix) : matrix_{std::move(matrix)} {
  constexpr const char* expected = "link derivatives need a staggered matrix in double on the CPU";
  TRELLIS_REQUIRE(matrix_ != nullptr && matrix_->precision() == Precision::double_precision, expected);
  require_host(matrix_->hopping().links()->choice().backend, expected);
}

double StaggeredLinkDerivative::flops(int rhs) const {
  const int distances = matrix_->hopping().links()->is_improved() ? 2 : 1;
  return double(matrix_->lattice().volume()) *
         (distances * staggered_derivative_flops(rhs) + 0.5 * rhs * matrix_->hopping().flops_per_site());
}

/// This counts the products, the hop to the odd sites, and the even sites gathered into one field.
double StaggeredLinkDerivative::bytes(int rhs) const {
  const int distances = matrix_->hopping().links()->is_improved() ? 2 : 1;
  return double(matrix_->lattice().volume()) *
         (distances * staggered_derivative_bytes(rhs) + 0.5 * matrix_->hopping().bytes_per_site(rhs) +
          0.5 * rhs * 2.0 * 48.0);
}

void StaggeredLinkDerivative::add(LinkDerivative& G, LinkDerivative* far,
                                  const std::vector<const SpinorField*>& X,
                                  const std::vector<double>& coefficients) const {
  const StaggeredHopping& hopping = matrix_->hopping();
  const LatticePtr& lattice = hopping.links()->lattice_ptr();
  const int lanes = hopping.links()->near(Precision::double_precision)->layout().lanes();
  add_on_host(G, lattice, lanes, [&](LinkDerivative& near) {
    if (far == nullptr) return add_sums(near, nullptr, X, coefficients);
    add_on_host(*far, lattice, lanes,
                [&](LinkDerivative& long_links) { add_sums(near, &long_links, X, coefficients); });
  });
}

void StaggeredLinkDerivative::add_sums(LinkDerivative& G, LinkDerivative* far,
                                       const std::vector<const SpinorField*>& X,
                                       const std::vector<double>& coefficients) const {
  const StaggeredHopping& hopping = matrix_->hopping();
  TRELLIS_REQUIRE(X.size() == coefficients.size(), "link derivative: ", X.size(), " solutions for ",
                  coefficients.size(), " coefficients");
  TRELLIS_REQUIRE((far != nullptr) == hopping.links()->is_improved(),
                  "link derivative: long links have a derivative exactly if the operator is improved");
  std::vector<double> c;
  for (size_t k = 0; k < X.size(); ++k) {
    FieldSpec domain = hopping.make_field(Subset::even, 1).spec();
    domain.rhs = X[k]->rhs();
    TRELLIS_REQUIRE(X[k]->spec() == domain && X[k]->lattice_ptr() == hopping.links()->lattice_ptr(),
                    "link derivative: a solution is not on the even sites of the operator in double");
    c.insert(c.end(), size_t(X[k]->rhs()), coefficients[k]);
  }
  if (c.empty()) return;
  auto& Z = gathered_[int(c.size())];
  if (!Z) Z = std::make_unique<SpinorField>(hopping.make_field(Subset::full, int(c.size())));
  int first = 0;
  for (const SpinorField* x : X) {
    copy_slots(*Z, first, *x);
    first += x->rhs();
  }
  hopping.apply(*Z, 1, *Z, 0.5);
  add_products(G, 1, *Z, c);
  if (far) add_products(*far, 3, *Z, c);
}

VectorHalo& StaggeredLinkDerivative::halo(int distance, int parity, int rhs) const {
  auto& entry = halos_[{distance, parity, rhs}];
  if (!entry) {
    const StaggeredLinks& links = *matrix_->hopping().links();
    const Precision p = Precision::double_precision;
    entry = std::make_unique<VectorHalo>(std::vector{links.stencil(p, distance)},
                                         distance == 1 ? *links.near(p) : *links.far(p), parity, rhs);
  }
  return *entry;
}

const std::vector<int32_t>& StaggeredLinkDerivative::targets(const LinkDerivative& G, int parity) const {
  if (targets_[parity].empty()) {
    const SiteLayout& layout = matrix_->hopping().links()->near(Precision::double_precision)->layout();
    for (int block = 0; block < layout.blocks(); ++block)
      targets_[parity].push_back(G.layout().block_at(layout.coord({parity, block, 0})));
  }
  return targets_[parity];
}

void StaggeredLinkDerivative::add_products(LinkDerivative& G, int distance, const SpinorField& Z,
                                           const std::vector<double>& c) const {
  const StaggeredHopping& hopping = matrix_->hopping();
  const StaggeredLinks& links = *hopping.links();
  const Precision p = Precision::double_precision;
  TRELLIS_REQUIRE(G.lanes() == Z.layout().lanes() && &G.lattice() == &Z.lattice() && G.precision() == p,
                  "link derivative in ", name_of(G.precision()), " precision with ", G.lanes(),
                  " lanes of fields with ", Z.layout().lanes(), ", or on another lattice");
  const HopStencil& stencil = *links.stencil(p, distance);
  const PhaseTable& phases = distance == 1 ? *hopping.tables().near : *hopping.tables().far;
  for (int parity = 0; parity < 2; ++parity) {
    StaggeredDerivativeCall call;
    call.stencil = {stencil.table(parity).data(), stencil.permutations()};
    call.phases = phases.raw(parity);
    call.here = Z.raw(parity);
    call.there = Z.raw(1 - parity);
    call.derivative = G.raw();
    call.target = targets(G, parity).data();
    call.coefficients = c.data();
    call.sign = parity == 1 ? 1.0 : -1.0;
    call.slots = Z.rhs();
    const auto run = [&](const SiteRange& sites) {
      dispatch_on_host(Z.layout().lanes(), [&]<class Layout, class Storage>() {
        launch_staggered_derivative<Layout, Storage>(call, sites);
      });
    };
    VectorHalo& exchange = halo(distance, parity, Z.rhs());
    if (!exchange.is_needed()) {
      run(SiteRange(Z.layout().blocks()));
      continue;
    }
    for (int leg = 0; leg < legs; ++leg) call.ghosts[leg] = exchange.ghost(0, leg);
    const HopLinks* const of_hop[] = {distance == 1 ? links.near(p).get() : links.far(p).get()};
    exchange.start(Z, of_hop);
    run(SiteRange(stencil.inner(parity)));
    exchange.finish();
    run(SiteRange(stencil.border(parity)));
  }
  G.halo_is_stale();
}

}  // namespace trellis
