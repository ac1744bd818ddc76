#include "trellis/measure/conserved_three_point.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/reflected_products.hpp"
#include "trellis/measure/reflected_products.hpp"
#include "trellis/measure/time_slice_sums.hpp"

namespace trellis {

namespace {
using Number = std::complex<double>;

int parity_of(const Coord& x) { return (x[0] + x[1] + x[2] + x[3]) % 2; }

/// Returns weights that are 1 on the links in direction mu that begin at sites of this parity.
LinkWeights links_from(int parity, int mu) {
  return [=](const Coord& x, int nu) { return nu == mu && parity_of(x) == parity ? 1.0 : 0.0; };
}

/// Makes a field of one complex number a site that lies where `like` lies.
SiteField numbers_like(const SpinorField& like) {
  return SiteField(like.lattice_ptr(),
                   {Precision::double_precision, Subset::full, 1, 2, like.spec().backend, like.spec().lanes});
}

/// It has the two terms of the links in one direction, seen from their ends. Hops over links that begin at
/// sites of one parity leave these sites and arrive at those of the other, so two of them tell the ends
/// apart, and any momentum can be given to them afterwards.
class LinkProducts {
 public:
  LinkProducts(const GaugeField& U, const WilsonParams& hops, int mu)
      : geometry_{U.geometry()},
        lattice_{U.lattice_ptr()},
        mu_{mu},
        links_{ConservedCurrent(U, hops, links_from(0, mu)), ConservedCurrent(U, hops, links_from(1, mu))} {}

  /// Adds the right-hand sides of both fields.
  void add(const SpinorField& left, const SpinorField& right) {
    for (auto* field : {&leaving_, &arriving_})
      if (!*field) field->emplace(numbers_like(left));
    SpinorField hopped = SpinorField::like(right);
    for (int parity = 0; parity < 2; ++parity) {
      stop_together(lattice_->communicator());
      links_[parity].apply(hopped, right);
      add_reflected_products(*leaving_, left, hopped, parity);
      add_reflected_products(*arriving_, left, hopped, 1 - parity);
    }
  }

  /// Adds factor times the sums over time slices into a row. Collective.
  void sum_into(CorrelatorTable& table, int row, const Momenta& transfers, const Coord& at,
                double factor) const {
    const Coord& extents = geometry_.lattice();
    const int Lt = extents[3];
    Momenta reversed = transfers;
    for (Momentum& n : reversed)
      for (int& k : n) k = -k;
    Coord ahead = at;  // a site has the phase of the one behind if momenta count from one ahead
    ahead[mu_] = (at[mu_] + 1) % extents[mu_];
    std::vector<ExactSum> sums(size_t(2 * table.momenta * Lt));
    add_slices(sums, *leaving_, MomentumPhases(extents, reversed, at), 0);
    add_slices(sums, *arriving_, MomentumPhases(extents, reversed, ahead), mu_ == 3 ? Lt - 1 : 0);
    lattice_->communicator().sum(sums.data(), int(sums.size()));
    for (int p = 0; p < table.momenta; ++p) {
      const Number middle =
          mu_ < 3 ? root_of_unity(transfers[size_t(p)][size_t(mu_)], 2 * extents[mu_]) : 1.0;
      for (int t = 0; t < Lt; ++t) {
        const ExactSum* sum = &sums[size_t(2 * (p * Lt + t))];
        table.at(row, p, (t - at[3] + Lt) % Lt) = factor * middle * Number(sum[0].value(), sum[1].value());
      }
    }
  }

 private:
  /// Adds this rank's slices: sums[momentum][(time + shift) % Lt][re, im].
  void add_slices(std::vector<ExactSum>& sums, const SiteField& field, const MomentumPhases& phases,
                  int shift) const {
    const auto write = [&](int parity, const SiteRange& blocks, const ProductBuffer& out) {
      dispatch_double(field.spec().backend, field.layout().lanes(), [&]<class Layout, class Storage>() {
        launch_site_numbers<Layout, Storage>(field.raw(parity), out, blocks);
      });
    };
    const std::vector<ExactSum> slices = slice_sums_of_rank(field, 1, phases, write);
    const int Lt = geometry_.lattice()[3], momenta = phases.momenta();
    for (int local = 0; local < geometry_.local()[3]; ++local)
      for (int p = 0; p < momenta; ++p)
        for (int part = 0; part < 2; ++part) {
          const int t = (geometry_.origin()[3] + local + shift) % Lt;
          sums[size_t(2 * (p * Lt + t) + part)].merge(slices[size_t(2 * (local * momenta + p) + part)]);
        }
  }

  Geometry geometry_;
  LatticePtr lattice_;
  int mu_;
  ConservedCurrent links_[2];  ///< there is one for each parity of the site where links begin
  std::optional<SiteField> leaving_, arriving_;  ///< one is of the link from, one of the link to a local site
};

void require_lines(const DomainWallMatrix& matrix, const DomainWallLine& sequential,
                   const DomainWallLine& S) {
  const DomainWallParams& p = matrix.params();
  TRELLIS_REQUIRE(p.b5.size() == 1 && p.c5.size() == 1 && p.b(0).imag() == 0 && p.c(0).imag() == 0,
                  "conserved currents with a fixed sink need one real b5 and one real c5 for all slices");
  TRELLIS_REQUIRE(!S.S.five.empty() && S.S.five.size() == sequential.S.five.size(),
                  "conserved currents of domain walls need the 5-D fields of both propagators in equal "
                  "batches: expected as many of the sequential one as of the other, found ",
                  sequential.S.five.size(), " and ", S.S.five.size());
  TRELLIS_REQUIRE(S.source.at == sequential.source.at, "the sequential propagator's source counts from ",
                  to_string(sequential.source.at), ", the other's from ", to_string(S.source.at));
  for (const DomainWallLine* line : {&sequential, &S})
    TRELLIS_REQUIRE(
        line->S.five[0].lattice_ptr() == matrix.hop().lattice_ptr() && line->S.five[0].slices() == p.Ls,
        "5-D fields of another lattice or Ls than the operator's");
}
}  // namespace

CorrelatorTable conserved_three_point(const DomainWallMatrixPtr& matrix, const DomainWallLine& sequential,
                                      const DomainWallLine& S,
                                      const std::vector<ConservedInsertion>& currents,
                                      const Momenta& momentum_transfers) {
  require_lines(*matrix, sequential, S);
  const DomainWallParams& params = matrix->params();
  const int batch = Propagator::columns_per_propagator / int(S.S.five.size());
  CorrelatorTable table(int(currents.size()), int(momentum_transfers.size()), matrix->lattice().extents()[3]);
  for (int row = 0; row < table.rows; ++row) {
    const auto [kind, mu] = currents[size_t(row)];
    const bool is_axial = kind == CurrentKind::axial;
    TRELLIS_REQUIRE(mu >= 0 && mu < 4, "a current's direction is 0, 1, 2 or 3 (x, y, z, t), not ", mu);
    TRELLIS_REQUIRE(!is_axial || params.Ls % 2 == 0, "the axial current needs an even Ls, not ", params.Ls);
    LinkProducts products(matrix->links(), params.kernel(), mu);
    for (size_t i = 0; i < S.S.five.size(); ++i) {
      const int first = int(i) * batch;
      const SpinorField left = current_field(*matrix, sequential.S.five[i], sequential.source.columns, first);
      SpinorField right = current_field(*matrix, S.S.five[i], S.source.columns, first);
      for (int parity = 0; is_axial && parity < 2; ++parity)
        matrix->apply_fifth(right, right, parity, FifthMatrix::axial_sign, false);
      products.add(left, right);
    }
    const double norm = 1 / (params.b(0) + params.c(0)).real();
    products.sum_into(table, row, momentum_transfers, S.source.at, norm);
  }
  return table;
}

CorrelatorTable conserved_three_point(const GaugeField& U, const WilsonParams& hops,
                                      const Propagator& sequential, const Propagator& S,
                                      const std::vector<int>& directions, const Momenta& momentum_transfers) {
  for (const Propagator* line : {&sequential, &S})
    TRELLIS_REQUIRE(line->precision() == Precision::double_precision && line->geometry() == U.geometry(),
                    "conserved currents are inserted in double on the lattice of the links: expected such "
                    "propagators");
  TRELLIS_REQUIRE(S.source_at() == sequential.source_at(), "the sequential propagator's source counts from ",
                  to_string(sequential.source_at()), ", the other's from ", to_string(S.source_at()));
  CorrelatorTable table(int(directions.size()), int(momentum_transfers.size()), S.geometry().lattice()[3]);
  for (int row = 0; row < table.rows; ++row) {
    const int mu = directions[size_t(row)];
    TRELLIS_REQUIRE(mu >= 0 && mu < 4, "a current's direction is 0, 1, 2 or 3 (x, y, z, t), not ", mu);
    LinkProducts products(U, hops, mu);
    if (S.columns().spec().backend == U.backend() && sequential.columns().spec().backend == U.backend())
      products.add(sequential.columns(), S.columns());
    else
      products.add(moved_to(sequential.columns(), U.backend()), moved_to(S.columns(), U.backend()));
    products.sum_into(table, row, momentum_transfers, S.source_at(), 1.0);
  }
  return table;
}

}  // namespace trellis
