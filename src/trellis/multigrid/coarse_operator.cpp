#include "trellis/multigrid/coarse_operator.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/multigrid/coarse_hop.hpp"
#include "trellis/multigrid/dense.hpp"

namespace trellis {

/// It has the neighbours' vectors of fields of one kind.
struct CoarseMatrix::Halo {
  HaloExchange exchange;
  std::vector<int32_t> places[2];
  KernelTable<int32_t> neighbours[2];  ///< it is [site][leg], by parity of the sites that have neighbours in
                                       ///< `in`

  Halo(const SiteField& in, const SiteHaloPtr& ghost_sites) : exchange{in, ghost_sites} {
    for (int parity = 0; parity < 2; ++parity) {
      if (in.subset() == subset_of(parity)) continue;
      const size_t sites = size_t(in.layout().blocks(parity));
      places[parity].resize(sites * legs);
      for (int leg = 0; leg < legs; ++leg) {
        Coord step{};
        step[leg / 2] = leg % 2 == 0 ? 1 : -1;
        const std::vector<int32_t> of_leg = ghost_sites->neighbours(parity, step);
        for (size_t site = 0; site < sites; ++site) places[parity][site * legs + size_t(leg)] = of_leg[site];
      }
      neighbours[parity] = {places[parity], in.spec().backend};
    }
  }
};

namespace {

/// Beyond this an inverse in single loses the digits that a coarse solve needs. On usual fields it is below
/// 10.
constexpr double largest_condition = 1e5;

int vectors_of(const SiteField& diagonal) {
  const int n = int(std::lround(std::sqrt(diagonal.reals() / 8.0)));
  TRELLIS_REQUIRE(8 * n * n == diagonal.reals(), "a coarse matrix has 8 n^2 reals, not ", diagonal.reals());
  return n;
}

DenseMatrix matrix_at(const SiteField& field, const SitePosition& at, int n) {
  std::vector<double> reals(size_t(field.reals()));
  field.get_site(at, 0, reals.data());
  DenseMatrix m(2 * n);
  for (int column = 0; column < 2 * n; ++column)
    for (int row = 0; row < 2 * n; ++row) {
      const size_t i = 2 * (size_t(column) * size_t(2 * n) + size_t(row));
      m.at(row, column) = {reals[i], reals[i + 1]};
    }
  return m;
}

void set_matrix(SiteField& field, const SitePosition& at, const DenseMatrix& m) {
  std::vector<double> reals;
  for (int column = 0; column < m.n; ++column)
    for (int row = 0; row < m.n; ++row) {
      reals.push_back(m.at(row, column).real());
      reals.push_back(m.at(row, column).imag());
    }
  field.set_site(at, 0, reals.data());
}

/// Calls f for the sites in parallel.
template <class F>
void for_each_position(const SiteLayout& layout, F&& f) {
  for (int parity = 0; parity < 2; ++parity)
    for_each_index(layout.blocks(parity), [&](int site) { f(SitePosition{parity, site, 0}); });
}

FieldSpec spec_in(const SiteField& field, Precision storage) {
  FieldSpec spec = field.spec();
  spec.precision = storage;
  return spec;
}

SiteField in_storage(const SiteField& field, Precision storage) {
  SiteField out(field.lattice_ptr(), spec_in(field, storage));
  convert(out, field);
  return out;
}

/// Inverts the matrix of each site, and returns the largest condition here.
double invert(SiteField& inverse, const SiteField& diagonal, int n) {
  double worst = 0;
  on_host(inverse, [&](SiteField& out) {
    on_host(diagonal, [&](const SiteField& in) {
      for (int parity = 0; parity < 2; ++parity) {
        std::vector<double> conditions(size_t(in.layout().blocks(parity)));
        for_each_index(in.layout().blocks(parity), [&](int site) {
          const SitePosition at{parity, site, 0};
          const DenseInverse found = inverse_of(matrix_at(in, at, n));
          conditions[size_t(site)] = found.condition;
          set_matrix(out, at, found.inverse);
        });
        for (const double condition : conditions) worst = std::max(worst, condition);
      }
    });
  });
  return worst;
}

}  // namespace

CoarseMatrix::CoarseMatrix(const SiteField& links, SiteField diagonal, Precision storage)
    : vectors_{vectors_of(diagonal)},
      links_{in_storage(links, storage)},
      diagonal_{std::move(diagonal)},
      inverse_{diagonal_.lattice_ptr(), spec_in(diagonal_, storage)} {
  TRELLIS_REQUIRE(storage == diagonal_.precision() || (storage == Precision::half_precision &&
                                                       diagonal_.precision() == Precision::single_precision),
                  "coarse matrices in ", name_of(storage), " do not multiply vectors in ",
                  name_of(diagonal_.precision()));
  const Lattice& lattice = links_.lattice();
  condition_ = lattice.communicator().maximum(invert(inverse_, diagonal_, vectors_));
  if (!(condition_ <= largest_condition))
    throw NumericError(message(
        "a diagonal matrix of the coarse operator is singular, or nearly: its condition is ", condition_));
  link_halo_ = std::make_unique<HaloExchange>(links_, HaloShape{});
  link_halo_->exchange(links_);
  for (int parity = 0; parity < 2; ++parity) {
    const size_t sites = size_t(links_.layout().blocks(parity));
    back_places_[parity].resize(sites * Nd);
    for (int mu = 0; mu < Nd; ++mu) {
      Coord step{};
      step[mu] = -1;
      const std::vector<int32_t> of_leg = link_halo_->sites().neighbours(parity, step);
      for (size_t site = 0; site < sites; ++site) back_places_[parity][site * Nd + size_t(mu)] = of_leg[site];
    }
    back_links_[parity] = {back_places_[parity], links_.spec().backend};
  }
}

CoarseMatrixPtr CoarseMatrix::converted(Precision precision) const {
  return std::make_shared<CoarseMatrix>(links_, in_storage(diagonal_, precision), precision);
}

CoarseMatrixPtr CoarseMatrix::stored_in(Precision storage) const {
  return std::make_shared<CoarseMatrix>(links_, diagonal_, storage);
}

CoarseMatrixPtr CoarseMatrix::shifted(double mass, double twist) const {
  SiteField diagonal = diagonal_;
  const int n = vectors_;
  on_host(diagonal, [&](SiteField& field) {
    for_each_position(field.layout(), [&](const SitePosition& at) {
      DenseMatrix A = matrix_at(field, at, n);
      for (int i = 0; i < 2 * n; ++i) A.at(i, i) += std::complex<double>(mass, i < n ? twist : -twist);
      set_matrix(field, at, A);
    });
  });
  return std::make_shared<CoarseMatrix>(links_, std::move(diagonal), links_.precision());
}

FieldSpec CoarseMatrix::field_spec(Subset subset, int rhs) const {
  FieldSpec spec = diagonal_.spec();
  spec.subset = subset;
  spec.rhs = rhs;
  spec.reals = 4 * vectors_;
  return spec;
}

const SiteHaloPtr& CoarseMatrix::ghost_sites(Subset subset) const {
  SiteHaloPtr& entry = ghost_sites_[subset];
  const int parity = subset == Subset::full ? -1 : first_parity(subset);
  if (!entry) entry = std::make_shared<SiteHalo>(diagonal_.layout_ptr(), HaloShape{}, parity);
  return entry;
}

CoarseMatrix::Halo& CoarseMatrix::halo(const SiteField& in) const {
  auto& entry = halos_[{in.subset(), in.rhs()}];
  if (!entry) entry = std::make_shared<Halo>(in, ghost_sites(in.subset()));
  return *entry;
}

void CoarseMatrix::hop(SiteField& out, int parity, const SiteField& in, const SiteField* add, double hop,
                       bool is_dagger) const {
  Halo& neighbours = halo(in);
  neighbours.exchange.exchange(in);
  hop_from(neighbours, out, parity, in, add, hop, is_dagger);
}

void CoarseMatrix::multiply_all(SiteField& out, const SiteField& in, bool is_dagger) const {
  Halo& neighbours = halo(in);
  neighbours.exchange.exchange(in);
  for (int parity = 0; parity < 2; ++parity) {
    multiply(out, parity, in, nullptr, false, is_dagger);
    hop_from(neighbours, out, parity, in, &out, 1.0, is_dagger);
  }
}

void CoarseMatrix::forward_legs(SiteField& out, const SiteField& in,
                                const std::function<void(int mu)>& use) const {
  Halo neighbours(in, ghost_sites(in.subset()));
  neighbours.exchange.exchange(in);
  for (int mu = 0; mu < Nd; ++mu) {
    for (int parity = 0; parity < 2; ++parity)
      hop_from(neighbours, out, parity, in, nullptr, 1.0, false, forward_leg(mu));
    use(mu);
  }
}

void CoarseMatrix::hop_from(const Halo& neighbours, SiteField& out, int parity, const SiteField& in,
                            const SiteField* add, double hop, bool is_dagger, unsigned legs_taken) const {
  CoarseHopCall call;
  call.legs_taken = legs_taken;
  call.neighbours = neighbours.neighbours[parity].data();
  call.back_links = back_links_[parity].data();
  call.in = in.raw(1 - parity);
  call.ghosts = neighbours.exchange.ghosts();
  call.links = links_.raw(parity);
  call.links_there = links_.raw(1 - parity);
  call.link_ghosts = link_halo_->ghosts();
  if (add) call.add = add->raw(parity);
  call.out = out.raw(parity);
  call.hop = hop;
  call.is_half = links_.precision() == Precision::half_precision;
  call.is_dagger = is_dagger;
  call.vectors = vectors_;
  call.rhs = in.rhs();
  dispatch_unquantised(in.spec().backend, in.precision(), 1, [&]<class Layout, class Storage>() {
    if constexpr (Layout::lanes == 1)
      launch_coarse_hop<Layout, Storage>(call, SiteRange(out.layout().blocks(parity)));
  });
}

void CoarseMatrix::multiply(SiteField& out, int parity, const SiteField& in, const SiteField* add,
                            bool is_inverse, bool is_dagger) const {
  CoarseMatrixCall call;
  const SiteField& matrix = is_inverse ? inverse_ : diagonal_;
  call.matrix = matrix.raw(parity);
  call.is_half = matrix.precision() == Precision::half_precision;
  call.in = in.raw(parity);
  if (add) call.add = add->raw(parity);
  call.out = out.raw(parity);
  call.is_dagger = is_dagger;
  call.vectors = vectors_;
  call.rhs = in.rhs();
  dispatch_unquantised(in.spec().backend, in.precision(), 1, [&]<class Layout, class Storage>() {
    if constexpr (Layout::lanes == 1)
      launch_coarse_matrix<Layout, Storage>(call, SiteRange(out.layout().blocks(parity)));
  });
}

/// A product of a matrix takes 8 (2 n)^2 flop; matrices are read once, however many columns there are.
Cost CoarseMatrix::diagonal_cost(int columns) const {
  const double half = 0.5 * double(links_.lattice().volume()), rows = 2.0 * vectors_;
  const double stored = double(element_bytes(links_.precision())),
               real = double(element_bytes(diagonal_.precision()));
  Cost cost = cost_of(half * columns * 8 * rows * rows,
                      half * (stored * 2 * rows * rows + real * 4 * rows * columns));
  cost.launches = 1;
  return cost;
}

Cost CoarseMatrix::hop_cost_without_halo(int columns) const {
  const double half = 0.5 * double(links_.lattice().volume()), rows = 2.0 * vectors_;
  const double stored = double(element_bytes(links_.precision())),
               real = double(element_bytes(diagonal_.precision()));
  Cost cost = cost_of(half * columns * 8 * (8 * rows * rows),
                      half * (stored * 8 * 2 * rows * rows + real * 4 * rows * columns));
  cost.launches = 1;
  return cost;
}

Cost CoarseMatrix::hop_cost(int parity, int columns) const {
  const Subset other = subset_of(1 - parity);
  return hop_cost_without_halo(columns) + HaloExchange::cost(*ghost_sites(other), field_spec(other, columns));
}

Cost CoarseMatrix::cost_of_all(int columns) const {
  return 2 * (hop_cost_without_halo(columns) + diagonal_cost(columns)) +
         HaloExchange::cost(*ghost_sites(Subset::full), field_spec(Subset::full, columns));
}

std::string CoarseOperator::name() const {
  return message("coarse operator with ", matrix_->vectors(), " vectors on ",
                 to_string(matrix_->lattice_ptr()->extents()));
}

LinearOperatorPtr CoarseOperator::converted(Precision precision) const {
  return std::make_shared<CoarseOperator>(matrix_->converted(precision));
}

std::shared_ptr<const SchurOperator> CoarseOperator::schur(SchurForm form) const {
  return std::make_shared<CoarseSchur>(matrix_, form);
}

void CoarseOperator::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const {
  matrix_->multiply_all(out, in, is_dagger);
}

Cost CoarseOperator::cost(int columns) const { return matrix_->cost_of_all(columns); }

std::string CoarseSchur::name() const {
  return message("even-odd ", CoarseOperator(matrix_).name(),
                 form_ == SchurForm::symmetric ? " (symmetric)" : " (asymmetric)");
}

LinearOperatorPtr CoarseSchur::converted(Precision precision) const {
  return std::make_shared<CoarseSchur>(matrix_->converted(precision), form_);
}

SpinorField& CoarseSchur::workspace(int which, int parity, int rhs) const {
  auto& field = workspace_[{which, parity, rhs}];
  if (!field)
    field =
        std::make_unique<SpinorField>(matrix_->lattice_ptr(), matrix_->field_spec(subset_of(parity), rhs));
  return *field;
}

void CoarseSchur::multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const {
  SpinorField &odd = workspace(0, 1, in.rhs()), &odd_solution = workspace(1, 1, in.rhs()),
              &even = workspace(2, 0, in.rhs());
  const bool is_symmetric = form_ == SchurForm::symmetric;
  if (is_dagger && is_symmetric) {  // this is 1 - H^dagger A^-1 H^dagger A^-1, each the adjoint
    matrix_->multiply(even, 0, in, nullptr, true, true);
    matrix_->hop(odd, 1, even, nullptr, 1.0, true);
    matrix_->multiply(odd_solution, 1, odd, nullptr, true, true);
    return matrix_->hop(out, 0, odd_solution, &in, -1.0, true);
  }
  matrix_->hop(odd, 1, in, nullptr, 1.0, is_dagger);
  matrix_->multiply(odd_solution, 1, odd, nullptr, true, is_dagger);
  if (is_symmetric) {
    matrix_->hop(even, 0, odd_solution, nullptr, -1.0, false);
    return matrix_->multiply(out, 0, even, &in, true, false);
  }
  matrix_->multiply(out, 0, in, nullptr, false, is_dagger);
  matrix_->hop(out, 0, odd_solution, &out, -1.0, is_dagger);
}

Cost CoarseSchur::cost(int columns) const {
  return matrix_->hop_cost(0, columns) + matrix_->hop_cost(1, columns) + 2 * matrix_->diagonal_cost(columns);
}

void CoarseSchur::prepare_source(SpinorField& source, const SpinorField& b) const {
  SpinorField &odd = workspace(1, 1, b.rhs()), &even = workspace(2, 0, b.rhs());
  matrix_->multiply(odd, 1, b, nullptr, true, false);
  if (form_ == SchurForm::asymmetric) return matrix_->hop(source, 0, odd, &b, -1.0, false);
  matrix_->hop(even, 0, odd, &b, -1.0, false);
  matrix_->multiply(source, 0, even, nullptr, true, false);
}

void CoarseSchur::reconstruct(SpinorField& x, const SpinorField& solution, const SpinorField& b) const {
  SpinorField& odd = workspace(0, 1, b.rhs());
  matrix_->hop(odd, 1, solution, &b, -1.0, false);
  matrix_->multiply(x, 1, odd, nullptr, true, false);
  insert_parity(x, solution);
}

Cost CoarseSchur::source_cost(int columns) const {
  return matrix_->hop_cost(0, columns) +
         (form_ == SchurForm::symmetric ? 2 : 1) * matrix_->diagonal_cost(columns);
}

Cost CoarseSchur::reconstruction_cost(int columns) const {
  return matrix_->hop_cost(1, columns) + matrix_->diagonal_cost(columns) + copy_cost(columns);
}

}  // namespace trellis
