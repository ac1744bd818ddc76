#include "trellis/operator/staggered_derivative.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/dirac/staggered_derivative.hpp"

namespace trellis {

StaggeredLinkDerivative::StaggeredLinkDerivative(StaggeredMatrixPtr matrix) : matrix_{std::move(matrix)} {
  TRELLIS_REQUIRE(matrix_ != nullptr && matrix_->precision() == Precision::double_precision,
                  "link derivatives need a staggered matrix in double");
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
  Gathered& entry = gathered_[int(c.size())];
  if (!entry.even) {
    entry.even = std::make_unique<SpinorField>(hopping.make_field(Subset::even, int(c.size())));
    entry.odd = std::make_unique<SpinorField>(hopping.make_field(Subset::odd, int(c.size())));
  }
  if (entry.coefficients != c) {
    entry.coefficients = c;
    entry.table = {entry.coefficients, hopping.links()->choice().backend};
  }
  int first = 0;
  for (const SpinorField* x : X) {
    copy_columns(*entry.even, first, *x, 0, x->rhs());
    first += x->rhs();
  }
  hopping.apply(*entry.odd, 1, *entry.even, 0.5);
  add_products(G, 1, entry);
  if (far) add_products(*far, 3, entry);
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

void StaggeredLinkDerivative::add_products(LinkDerivative& G, int distance, const Gathered& Z) const {
  const StaggeredHopping& hopping = matrix_->hopping();
  const StaggeredLinks& links = *hopping.links();
  const Precision p = Precision::double_precision;
  const Backend backend = links.choice().backend;
  TRELLIS_REQUIRE(G.lanes() == Z.even->layout().lanes() && &G.lattice() == &Z.even->lattice() &&
                      G.precision() == p && G.backend() == backend,
                  "link derivative in ", name_of(G.precision()), " precision on ", name_of(G.backend()),
                  " with ", G.lanes(), " lanes of fields on ", name_of(backend), " with ",
                  Z.even->layout().lanes(), ", or on another lattice");
  const PhaseTable& phases = distance == 1 ? *hopping.tables().near : *hopping.tables().far;
  const SiteTablesPtr tables = G.lattice().site_tables(Z.even->layout_ptr(), backend);
  for (int parity = 0; parity < 2; ++parity) {
    const SpinorField &here = parity == 0 ? *Z.even : *Z.odd, &there = parity == 0 ? *Z.odd : *Z.even;
    StaggeredDerivativeCall call;
    call.stencil = hopping.raw_stencil(distance, parity);
    call.phases = phases.raw(parity);
    call.here = here.raw(parity);
    call.there = there.raw(1 - parity);
    call.derivative = G.raw();
    call.target = tables->extended_blocks(G.site_tables().layout(), parity);
    call.coefficients = Z.table.data();
    call.sign = parity == 1 ? 1.0 : -1.0;
    call.slots = here.rhs();
    const auto run = [&](const SiteRange& sites) {
      dispatch_links(G.site_tables(), [&]<class Layout, class Storage>() {
        launch_staggered_derivative<Layout, Storage>(call, sites);
      });
    };
    VectorHalo& exchange = halo(distance, parity, here.rhs());
    if (!exchange.is_needed()) {
      run(SiteRange(here.layout().blocks()));
      continue;
    }
    const HopLinks* const of_hop[] = {distance == 1 ? links.near(p).get() : links.far(p).get()};
    exchange.start(there, of_hop);
    run(hopping.inner_sites(distance, parity));
    exchange.finish();
    for (int leg = 0; leg < legs; ++leg) call.ghosts[leg] = exchange.ghost(0, leg);
    run(hopping.border_sites(distance, parity));
  }
  G.halo_is_stale();
}

}  // namespace trellis
