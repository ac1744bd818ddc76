#include "trellis/multigrid/galerkin.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/multigrid/forward_leg.hpp"

namespace trellis {

namespace {

/// It makes U_mu(x) P(x + mu) for one mu after the other.
class ForwardLegs {
 public:
  ForwardLegs(const GaugeField& U, const SpinorField& columns)
      : columns_{columns},
        links_{U, columns.precision(), 18, columns.spec().backend, columns.spec().lanes},
        halo_{columns, HaloShape{}} {
    halo_.exchange(columns);
  }

  void apply(SpinorField& out, int mu) const {
    Coord step{};
    step[mu] = 1;
    for (int parity = 0; parity < 2; ++parity) {
      const std::vector<int32_t> places = halo_.sites().neighbours(parity, step);
      const KernelTable<int32_t> neighbours(places, columns_.spec().backend);
      ForwardLegCall call;
      call.neighbours = neighbours.data();
      call.links = links_.raw(parity);
      call.in = columns_.raw(1 - parity);
      call.ghosts = halo_.ghosts();
      call.out = out.raw(parity);
      call.mu = mu;
      call.slots = columns_.rhs();
      dispatch_unquantised(columns_.spec().backend, columns_.precision(), columns_.layout().lanes(),
                           [&]<class Layout, class Storage>() {
                             launch_forward_leg<Layout, Storage>(call,
                                                                 SiteRange(columns_.layout().blocks(parity)));
                           });
    }
  }

 private:
  const SpinorField& columns_;
  HopLinks links_;
  HaloExchange halo_;
};

/// Adds factor T, and with `both` its adjoint g5 T^dagger g5, to the matrices that a slot of a coarse field
/// has.
void add_products(std::vector<double>& reals, const DenseMatrix& T, std::complex<double> factor, bool both) {
  const int rows = T.n, n = rows / 2;
  for (int column = 0; column < rows; ++column)
    for (int row = 0; row < rows; ++row) {
      std::complex<double> sum = factor * T.at(row, column);
      if (both) {
        const double sign = (row < n) == (column < n) ? 1 : -1;
        sum += sign * std::conj(factor * T.at(column, row));
      }
      double* p = reals.data() + 2 * (size_t(column) * size_t(rows) + size_t(row));
      p[0] += sum.real();
      p[1] += sum.imag();
    }
}

/// A(X) is summed in double, aggregate by aggregate, and rounded once.
class CoarseFields {
 public:
  CoarseFields(const Prolongator& P) : P_{P}, reals_(size_t(2 * P.coarse_reals()) * size_t(P.vectors())) {
    const size_t sites = size_t(P.aggregates().groups()) * size_t(P.aggregates().lanes());
    diagonal_.assign(sites, std::vector<double>(reals_, 0.0));
  }

  void add_to_diagonal(const Prolongator::Products& products, std::complex<double> factor, bool both) {
    for_each([&](int group, int lane, std::vector<double>& diagonal) {
      add_products(diagonal, products.matrix(group, lane), factor, both);
    });
  }
  /// Sets F_mu, with the phase of the boundary of the lattice.
  void set_links(SiteField& links, int mu, const Prolongator::Products& products, double factor,
                 std::complex<double> boundary) {
    const Geometry& g = P_.coarse_lattice()->geometry();
    for_each([&](int group, int lane, std::vector<double>&) {
      const Coord coarse = P_.aggregates().coarse_coord(group, lane);
      const bool is_last = g.to_global(coarse)[mu] == g.lattice()[mu] - 1;
      std::vector<double> reals(reals_, 0.0);
      add_products(reals, products.matrix(group, lane), is_last ? factor * boundary : factor, false);
      links.set_site(links.layout().position(coarse), mu, reals.data());
    });
  }
  void set_diagonal(SiteField& field) {
    for_each([&](int group, int lane, std::vector<double>& diagonal) {
      field.set_site(field.layout().position(P_.aggregates().coarse_coord(group, lane)), 0, diagonal.data());
    });
  }
  FieldSpec spec(int slots) const {
    FieldSpec spec = P_.coarse_spec(slots);
    spec.reals = int(reals_);
    return spec;
  }

 private:
  /// Calls f for the aggregates in parallel.
  template <class F>
  void for_each(F&& f) {
    const int lanes = P_.aggregates().lanes();
    for_each_index(P_.aggregates().groups() * lanes, [&](int aggregate) {
      f(aggregate / lanes, aggregate % lanes, diagonal_[size_t(aggregate)]);
    });
  }
  const Prolongator& P_;
  size_t reals_;
  std::vector<std::vector<double>> diagonal_;
};

}  // namespace

CoarseMatrixPtr galerkin_product(const WilsonMatrix& M, const Prolongator& P) {
  SpinorField image = SpinorField::like(P.columns());
  return galerkin_product(M, P, image);
}

CoarseMatrixPtr galerkin_product(const WilsonMatrix& M, const Prolongator& P, SpinorField& image) {
  const SpinorField& columns = P.columns();
  const WilsonParams& params = M.params();
  CoarseFields fields(P);
  SiteField links(P.coarse_lattice(), fields.spec(Nd)), diagonal(P.coarse_lattice(), fields.spec(1));
  for (int parity = 0; parity < 2; ++parity) M.apply_diagonal(image, columns, parity, false);
  fields.add_to_diagonal(P.products_with(image, P.aggregates().all(), -1, false), 1.0, false);
  const ForwardLegs legs(*M.gauge_field(), columns);
  on_host(links, [&](SiteField& host) {
    for (int mu = 0; mu < Nd; ++mu) {
      stop_together(M.lattice().communicator());
      const double factor = mu < 3 ? -0.5 * params.nu / params.xi0 : -0.5;
      legs.apply(image, mu);
      fields.add_to_diagonal(P.products_with(image, P.aggregates().inner(mu), mu, false), factor, true);
      fields.set_links(host, mu, P.products_with(image, P.aggregates().face(mu), mu, false), factor,
                       params.boundary[size_t(mu)]);
    }
  });
  on_host(diagonal, [&](SiteField& host) { fields.set_diagonal(host); });
  return std::make_shared<CoarseMatrix>(links, std::move(diagonal), columns.precision());
}

}  // namespace trellis
