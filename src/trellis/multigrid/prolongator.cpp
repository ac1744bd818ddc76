#include "trellis/multigrid/prolongator.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/algebra/gamma.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/multigrid/aggregate_products.hpp"
#include "trellis/kernels/multigrid/coarse_lanes.hpp"
#include "trellis/kernels/multigrid/restrict.hpp"
#include "trellis/kernels/multigrid/round_columns.hpp"

namespace trellis {

namespace {

FieldSpec spec_of_columns(const SpinorField& like, int vectors) {
  TRELLIS_REQUIRE(like.subset() == Subset::full && like.reals() == spinor_reals && like.slices() == 1 &&
                      !is_16_bit(like.precision()),
                  "a prolongator has full spinors in double or single");
  TRELLIS_REQUIRE(vectors >= 1 && vectors <= most_vectors, "a prolongator has 1 to ", most_vectors,
                  " vectors, not ", vectors);
  FieldSpec spec = like.spec();
  spec.rhs = vectors;
  return spec;
}

}  // namespace

Prolongator::Prolongator(const SpinorField& like, const Coord& block, int vectors)
    : fine_lattice_{like.lattice_ptr()},
      spec_{spec_of_columns(like, vectors)},
      columns_{SpinorField(fine_lattice_, spec_)},
      aggregates_{columns_->layout_ptr(), block} {
  TRELLIS_REQUIRE(vectors <= 6 * aggregates_.sites(), vectors, " vectors on blocks of ", to_string(block),
                  " sites: a block has only ", 6 * aggregates_.sites(), " numbers of each chirality");
  const Lattice& fine = *fine_lattice_;
  const Geometry geometry(aggregates_.coarse_lattice(), fine.geometry().grid(), fine.geometry().rank());
  coarse_lattice_ = std::make_shared<Lattice>(geometry, fine.communicator_ptr());
  coarse_layout_ = coarse_lattice_->layout(1);
  const Backend backend = spec_.backend;
  table_ = {aggregates_.table(), backend};
  for (int parity = 0; parity < 2; ++parity) {
    group_of_[parity] = {aggregates_.group_of(parity), backend};
    for (int site = 0; site < coarse_layout_->blocks(parity); ++site)
      lanes_of_parity_[parity].push_back(
          aggregates_.group_and_lane(coarse_layout_->coord({parity, site, 0})));
    lane_of_[parity] = {lanes_of_parity_[parity], backend};
  }
}

FieldSpec Prolongator::coarse_spec(int rhs) const {
  FieldSpec spec = spec_;
  spec.rhs = rhs;
  spec.reals = coarse_reals();
  spec.lanes = 1;
  return spec;
}

SpinorField Prolongator::copy_of_columns() const {
  if (columns_) return *columns_;
  SpinorField columns = make_columns();
  convert(columns, *half_);
  return columns;
}

void Prolongator::round_columns() {
  TRELLIS_REQUIRE(spec_.precision == Precision::single_precision,
                  "columns are rounded from single precision");
  FieldSpec spec = spec_;
  spec.precision = Precision::half_precision;
  if (!half_) half_.emplace(fine_lattice_, spec);
  for (int parity = 0; parity < 2; ++parity)
    dispatch_unquantised(spec_.backend, spec_.precision, aggregates_.lanes(),
                         [&]<class Layout, class Storage>() {
                           if constexpr (std::is_same_v<Storage, float>)
                             launch_round_columns<Layout>({columns_->raw(parity), half_->raw(parity)},
                                                          SiteRange(aggregates_.layout().blocks(parity)));
                         });
  convert(*columns_, *half_);
}

void Prolongator::release_columns() { columns_.reset(); }

Memory& Prolongator::lanes_memory(int rhs) const {
  Memory& memory = lanes_memory_[rhs];
  if (memory.bytes() == 0)
    memory = Memory(size_t(aggregates_.groups()) * size_t(aggregates_.lanes()) * size_t(rhs) *
                        size_t(coarse_reals()) * element_bytes(spec_.precision),
                    spec_.backend);
  return memory;
}

void Prolongator::move_lanes(const SiteField& coarse, Memory& lanes, bool is_gathering) const {
  for (int parity = 0; parity < 2; ++parity) {
    CoarseLanesCall call;
    call.lane_of = lane_of_[parity].data();
    call.lanes = lanes.data();
    call.coarse = coarse.raw(parity);
    call.reals = coarse_reals();
    call.slots = coarse.rhs();
    dispatch_unquantised(
        spec_.backend, spec_.precision, aggregates_.lanes(), [&]<class Layout, class Storage>() {
          launch_coarse_lanes<Layout, Storage>(call, is_gathering, SiteRange(coarse_layout_->blocks(parity)));
        });
  }
}

void Prolongator::restrict_to(SiteField& coarse, const SpinorField& fine) const {
  TRELLIS_REQUIRE(fine.layout_ptr() == layout_ptr() && fine.precision() == spec_.precision &&
                      fine.subset() == Subset::full && fine.reals() == spinor_reals,
                  "restriction: the field is not like the prolongator's columns");
  TRELLIS_REQUIRE(coarse.spec() == coarse_spec(fine.rhs()),
                  "restriction: the coarse field is of another kind");
  Memory& lanes = lanes_memory(fine.rhs());
  RestrictCall call;
  call.aggregates = table();
  for (int parity = 0; parity < 2; ++parity) {
    call.in[parity] = fine.raw(parity);
    call.prolongator[parity] = in_products().raw(parity);
  }
  call.has_half = half_.has_value();
  call.out = lanes.data();
  call.vectors = vectors();
  call.rhs = fine.rhs();
  dispatch_unquantised(spec_.backend, spec_.precision, aggregates_.lanes(),
                       [&]<class Layout, class Storage>() {
                         launch_restrict<Layout, Storage>(call, SiteRange(aggregates_.groups()));
                       });
  move_lanes(coarse, lanes, true);
}

void Prolongator::prolong_to(SpinorField& fine, const SiteField& coarse) const {
  TRELLIS_REQUIRE(fine.layout_ptr() == layout_ptr() && fine.precision() == spec_.precision &&
                      fine.subset() == Subset::full && fine.reals() == spinor_reals,
                  "prolongation: the field is not like the prolongator's columns");
  TRELLIS_REQUIRE(coarse.spec() == coarse_spec(fine.rhs()),
                  "prolongation: the coarse field is of another kind");
  Memory& lanes = lanes_memory(fine.rhs());
  move_lanes(coarse, lanes, false);
  for (int parity = 0; parity < 2; ++parity) {
    ProlongCall call;
    call.group_of = group_of_[parity].data();
    call.out = fine.raw(parity);
    call.prolongator = in_products().raw(parity);
    call.has_half = half_.has_value();
    call.in = lanes.data();
    call.vectors = vectors();
    call.rhs = fine.rhs();
    dispatch_unquantised(
        spec_.backend, spec_.precision, aggregates_.lanes(), [&]<class Layout, class Storage>() {
          launch_prolong<Layout, Storage>(call, SiteRange(aggregates_.layout().blocks(parity)));
        });
  }
}

Cost Prolongator::transfer_cost(int columns) const {
  const double sites = double(fine_lattice_->volume()), real = double(element_bytes(spec_.precision));
  const double column = half_ ? 24 * 2.0 + sizeof(float) : 24 * real;
  Cost cost =
      cost_of(sites * 2 * 96 * vectors() * columns, sites * 2 * (vectors() * column + columns * 24 * real));
  cost.launches = 7;
  return cost;
}

Prolongator::Products Prolongator::products_with(const SpinorField& right, const std::vector<int32_t>& subset,
                                                 int mu, bool in_double) const {
  TRELLIS_REQUIRE(right.layout_ptr() == layout_ptr() && right.spec() == spec_,
                  "products over aggregates: the field is not like the prolongator's columns");
  const Backend backend = spec_.backend;
  const KernelTable<int32_t> sites(subset, backend);
  Products products{
      aggregates_.groups(), aggregates_.lanes(), 2 * vectors(), &right == &*columns_ && mu < 0, {}};
  products.values.resize(2 * size_t(products.groups) * size_t(products.lanes) * size_t(products.rows) *
                         size_t(products.rows));
  const bool has_doubles = in_double || spec_.precision == Precision::double_precision;
  Memory memory(products.values.size() * (has_doubles ? sizeof(double) : sizeof(float)), backend);
  AggregateProductsCall call;
  call.aggregates = table();
  for (int parity = 0; parity < 2; ++parity) {
    call.left[parity] = columns_->raw(parity);
    call.right[parity] = right.raw(parity);
  }
  call.vectors = vectors();
  call.is_chiral = mu < 0;
  call.is_hermitian = products.is_hermitian;
  if (mu >= 0) {
    const GammaMatrix gamma = gamma_mu(mu);
    for (int s = 0; s < 2; ++s) {
      const std::complex<double> phase = -gamma.phase[size_t(s)];
      call.spin[s] = gamma.column[size_t(s)];
      call.phase_re[s] = phase.real();
      call.phase_im[s] = phase.imag();
    }
  }
  call.is_in_double = has_doubles;
  call.out = memory.data();
  for (int first = 0; first < int(subset.size()); first += sites_of_products) {
    call.subset = sites.data() + first;
    call.subset_count = std::min(sites_of_products, int(subset.size()) - first);
    call.is_first = first == 0;
    dispatch_unquantised(backend, spec_.precision, aggregates_.lanes(), [&]<class Layout, class Storage>() {
      launch_aggregate_products<Layout, Storage>(call, SiteRange(aggregates_.groups()));
    });
  }
  if (has_doubles) {
    memory.copy_to_host(products.values.data(), memory.bytes());
  } else {
    std::vector<float> values(products.values.size());
    memory.copy_to_host(values.data(), memory.bytes());
    const size_t of_group = values.size() / size_t(products.groups);
    for_each_index(products.groups, [&](int group) {
      std::copy_n(values.begin() + ptrdiff_t(size_t(group) * of_group), of_group,
                  products.values.begin() + ptrdiff_t(size_t(group) * of_group));
    });
  }
  return products;
}

DenseMatrix Prolongator::Products::matrix(int group, int lane) const {
  DenseMatrix m(rows);
  for (int column = 0; column < rows; ++column)
    for (int row = 0; row < (is_hermitian ? column + 1 : rows); ++row) {
      const size_t at =
          2 * ((size_t(group) * size_t(rows) + size_t(column)) * size_t(rows) + size_t(row)) * size_t(lanes) +
          size_t(lane);
      m.at(row, column) = {values[at], values[at + size_t(lanes)]};
      if (is_hermitian && row < column) m.at(column, row) = std::conj(m.at(row, column));
    }
  return m;
}

namespace {
/// Returns the block of one chirality.
DenseMatrix of_chirality(const DenseMatrix& both, int chirality) {
  const int n = both.n / chiralities;
  DenseMatrix G(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) G.at(i, j) = both.at(chirality * n + i, chirality * n + j);
  return G;
}
}  // namespace

std::vector<int> Prolongator::dependent_columns(double least) const {
  if (!columns_) {
    const SpinorField columns = copy_of_columns();
    Prolongator again(columns, block(), vectors());
    copy(again.columns(), columns);
    return again.dependent_columns(least);
  }
  const Products products = products_with(*columns_, aggregates_.all(), -1, true);
  std::vector<double> worst(size_t(vectors()), 1.0);
  for (int group = 0; group < products.groups; ++group)
    for (int lane = 0; lane < aggregates_.lanes(); ++lane) {
      const DenseMatrix both = products.matrix(group, lane);
      for (int chirality = 0; chirality < chiralities; ++chirality) {
        const std::vector<double> parts = independent_parts(of_chirality(both, chirality), least);
        for (size_t j = 0; j < worst.size(); ++j) worst[j] = std::min(worst[j], parts[j]);
      }
    }
  std::vector<int> dependent;
  for (size_t j = 0; j < worst.size(); ++j)
    if (!(fine_lattice_->communicator().minimum(worst[j]) > least)) dependent.push_back(int(j));
  return dependent;
}

size_t Prolongator::mixing_place(int group, int lane, int chirality, int row, int column) const {
  const size_t n = size_t(vectors()), W = size_t(aggregates_.lanes());
  const size_t matrix = size_t(group) * chiralities + size_t(chirality);
  return 2 * ((matrix * n + size_t(column)) * n + size_t(row)) * W + size_t(lane);
}

void Prolongator::mix_columns(SpinorField& V, const std::vector<double>& mixing) const {
  const Backend backend = spec_.backend;
  const bool is_double = spec_.precision == Precision::double_precision;
  const std::vector<float> in_float(mixing.begin(), mixing.end());
  Memory matrix(mixing.size() * (is_double ? sizeof(double) : sizeof(float)), backend);
  matrix.copy_from_host(is_double ? static_cast<const void*>(mixing.data()) : in_float.data(),
                        matrix.bytes());
  for (int parity = 0; parity < 2; ++parity) {
    MixColumnsCall call;
    call.group_of = group_of_[parity].data();
    call.field = V.raw(parity);
    call.vectors = vectors();
    call.matrix = matrix.data();
    dispatch_unquantised(backend, spec_.precision, aggregates_.lanes(), [&]<class Layout, class Storage>() {
      launch_mix_columns<Layout, Storage>(call, SiteRange(aggregates_.layout().blocks(parity)));
    });
  }
}

void Prolongator::mix(SpinorField& V, const DenseMatrix& matrix) const {
  TRELLIS_REQUIRE(V.layout_ptr() == layout_ptr() && V.spec() == spec_ && matrix.n == vectors(),
                  "mixing columns: the field is not like the prolongator's columns");
  std::vector<double> mixing(mixing_place(aggregates_.groups(), 0, 0, 0, 0));
  for (int group = 0; group < aggregates_.groups(); ++group)
    for (int lane = 0; lane < aggregates_.lanes(); ++lane)
      for (int chirality = 0; chirality < chiralities; ++chirality)
        for (int j = 0; j < matrix.n; ++j)
          for (int i = 0; i <= j; ++i) {
            const size_t at = mixing_place(group, lane, chirality, i, j);
            mixing[at] = matrix.at(i, j).real();
            mixing[at + size_t(aggregates_.lanes())] = matrix.at(i, j).imag();
          }
  mix_columns(V, mixing);
}

namespace {
/// Returns the lesser of two pivots; one that is not a number is less than all.
double lesser(double worst, double pivot) {
  return pivot >= worst ? worst : std::isnan(pivot) ? -1.0 : pivot;
}
}  // namespace

/// Returns the products over the whole lattice, of both chiralities. Collective.
DenseMatrix Prolongator::sum_of_aggregates(const Products& products) const {
  const int n = vectors();
  std::vector<ExactSum> sums(size_t(2 * n * n));
  for (int group = 0; group < products.groups; ++group)
    for (int lane = 0; lane < products.lanes; ++lane) {
      const DenseMatrix both = products.matrix(group, lane);
      for (int chirality = 0; chirality < chiralities; ++chirality) {
        const DenseMatrix G = of_chirality(both, chirality);
        for (size_t k = 0; k < G.values.size(); ++k) {
          sums[2 * k].add(G.values[k].real());
          sums[2 * k + 1].add(G.values[k].imag());
        }
      }
    }
  fine_lattice_->communicator().sum(sums.data(), int(sums.size()));
  DenseMatrix sum(n);
  for (size_t k = 0; k < sum.values.size(); ++k)
    sum.values[k] = {sums[2 * k].value(), sums[2 * k + 1].value()};
  return sum;
}

/// Does one pass: V <- V R^-1 with V^dagger V = R^dagger R.
double Prolongator::mix_by_products(double least, DenseMatrix* gram) {
  const int n = vectors(), W = aggregates_.lanes();
  const Products products = products_with(*columns_, aggregates_.all(), -1, true);
  std::vector<double> mixing(mixing_place(products.groups, 0, 0, 0, 0));
  std::vector<double> least_pivots(size_t(products.groups * W));
  for_each_index(products.groups * W, [&](int aggregate) {
    const int group = aggregate / W, lane = aggregate % W;
    const DenseMatrix both = products.matrix(group, lane);
    double& worst_here = least_pivots[size_t(aggregate)] = 1;
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      const TriangularFactor factor = inverse_of_cholesky_factor(of_chirality(both, chirality));
      worst_here = lesser(worst_here, factor.least_pivot);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i <= j; ++i) {
          const size_t at = mixing_place(group, lane, chirality, i, j);
          mixing[at] = factor.inverse.at(i, j).real();
          mixing[at + size_t(W)] = factor.inverse.at(i, j).imag();
        }
    }
  });
  double worst = 1;
  for (const double pivot : least_pivots) worst = lesser(worst, pivot);
  if (gram) *gram = sum_of_aggregates(products);
  worst = fine_lattice_->communicator().minimum(worst);
  if (worst > least) mix_columns(*columns_, mixing);
  return worst;
}

double Prolongator::orthonormalise(double least, DenseMatrix* gram) {
  const double worst = mix_by_products(least, gram);
  if (worst > least) mix_by_products(0, nullptr);
  return worst;
}

}  // namespace trellis
