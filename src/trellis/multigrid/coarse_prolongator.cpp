#include "trellis/multigrid/coarse_prolongator.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/field/precision_dispatch.hpp"

namespace trellis {

namespace {

SiteField columns_like(const SiteField& like, int vectors) {
  TRELLIS_REQUIRE(like.subset() == Subset::full && like.layout().lanes() == 1 && like.reals() % 4 == 0 &&
                      like.slices() == 1 && !is_16_bit(like.precision()),
                  "a prolongator of a coarse lattice has full coarse fields in double or single");
  TRELLIS_REQUIRE(vectors >= 1 && vectors <= most_vectors, "a prolongator has 1 to ", most_vectors,
                  " vectors, not ", vectors);
  FieldSpec spec = like.spec();
  spec.rhs = vectors;
  return {like.lattice_ptr(), spec};
}

/// Calls f.operator()<Layout, Storage>() for coarse fields, which have one lane.
template <class F>
void dispatch_coarse(const SiteField& field, const F& f) {
  dispatch_unquantised(field.spec().backend, field.precision(), 1, [&]<class Layout, class Storage>() {
    if constexpr (Layout::lanes == 1) f.template operator()<Layout, Storage>();
  });
}

}  // namespace

CoarseProlongator::CoarseProlongator(const SiteField& like, const Coord& block, int vectors)
    : columns_{columns_like(like, vectors)},
      aggregates_{columns_.layout_ptr(), block, AggregatesOf::coarse_sites} {
  const int most = columns_.reals() / 4 * aggregates_.sites();
  TRELLIS_REQUIRE(vectors <= most, vectors, " vectors on blocks of ", to_string(block),
                  " coarse sites: a block has only ", most, " numbers of each chirality");
  const Lattice& lattice = columns_.lattice();
  coarser_lattice_ =
      std::make_shared<Lattice>(coarse_geometry(lattice.geometry(), block), lattice.communicator_ptr());
  const SiteLayoutPtr layout = coarser_lattice_->layout(1);
  const Backend backend = columns_.spec().backend;
  all_sites_ = aggregates_.all();
  for (int group = 0; group < aggregates_.groups(); ++group) {
    const SitePosition at = layout->position(aggregates_.coarse_coord(group, 0));
    coarser_places_.push_back(int32_t(at.block << 1 | at.parity));
  }
  table_ = {aggregates_.table(), backend};
  all_ = {all_sites_, backend};
  place_of_group_ = {coarser_places_, backend};
  for (int parity = 0; parity < 2; ++parity) {
    group_of_[parity] = {aggregates_.group_of(parity), backend};
    for (const int32_t group : aggregates_.group_of(parity))
      places_of_[parity].push_back(coarser_places_[size_t(group)]);
    places_[parity] = {places_of_[parity], backend};
  }
}

FieldSpec CoarseProlongator::coarse_spec(int rhs) const {
  FieldSpec spec = columns_.spec();
  spec.rhs = rhs;
  spec.reals = 4 * vectors();
  return spec;
}

CoarseProductsCall CoarseProlongator::products_call(const SiteField& right,
                                                    const KernelTable<int32_t>& subset) const {
  TRELLIS_REQUIRE(right.layout_ptr() == columns_.layout_ptr() && right.precision() == columns_.precision() &&
                      right.subset() == Subset::full && right.reals() == columns_.reals(),
                  "restriction of a coarse field: it is not like the prolongator's columns");
  CoarseProductsCall call;
  call.aggregates = table();
  call.subset = subset.data();
  call.subset_count = int(subset.size());
  for (int parity = 0; parity < 2; ++parity) {
    call.left[parity] = columns_.raw(parity);
    call.right[parity] = right.raw(parity);
  }
  call.reals = columns_.reals();
  call.vectors = vectors();
  call.rhs = right.rhs();
  return call;
}

void CoarseProlongator::restrict_to(SiteField& coarse, const SiteField& fine) const {
  TRELLIS_REQUIRE(coarse.spec() == coarse_spec(fine.rhs()), "restriction: the coarser field is another kind");
  CoarseProductsCall call = products_call(fine, all_);
  for (int parity = 0; parity < 2; ++parity) call.coarser[parity] = coarse.raw(parity);
  call.places = place_of_group_.data();
  dispatch_coarse(columns_, [&]<class Layout, class Storage>() {
    launch_coarse_products<Layout, Storage>(call, SiteRange(aggregates_.groups()));
  });
}

void CoarseProlongator::prolong_to(SiteField& fine, const SiteField& coarse) const {
  TRELLIS_REQUIRE(fine.layout_ptr() == columns_.layout_ptr() && fine.precision() == columns_.precision() &&
                      fine.subset() == Subset::full && fine.reals() == columns_.reals(),
                  "prolongation to a coarse field: it is not like the prolongator's columns");
  TRELLIS_REQUIRE(coarse.spec() == coarse_spec(fine.rhs()),
                  "prolongation: the coarser field is another kind");
  for (int parity = 0; parity < 2; ++parity) {
    CoarseProlongCall call;
    call.places = places_[parity].data();
    call.out = fine.raw(parity);
    call.prolongator = columns_.raw(parity);
    for (int i = 0; i < 2; ++i) call.in[i] = coarse.raw(i);
    call.reals = columns_.reals();
    call.vectors = vectors();
    call.rhs = fine.rhs();
    dispatch_coarse(columns_, [&]<class Layout, class Storage>() {
      launch_coarse_prolong<Layout, Storage>(call, SiteRange(columns_.layout().blocks(parity)));
    });
  }
}

/// Counts 8 flop for each complex number of the columns, both ways.
Cost CoarseProlongator::transfer_cost(int columns) const {
  const double numbers = double(columns_.lattice().volume()) * columns_.reals() / 2;
  const double real = double(element_bytes(columns_.precision()));
  Cost cost = cost_of(2 * 8 * numbers * vectors() * columns, 2 * 2 * real * numbers * (vectors() + columns));
  cost.launches = 3;
  return cost;
}

std::vector<double> CoarseProlongator::products_with(const SiteField& right,
                                                     const std::vector<int32_t>& subset) const {
  const Backend backend = columns_.spec().backend;
  const KernelTable<int32_t> sites(subset, backend);
  CoarseProductsCall call = products_call(right, sites);
  std::vector<double> products(size_t(aggregates_.groups()) * size_t(4 * vectors()) * size_t(right.rhs()));
  Memory memory(products.size() * sizeof(double), backend);
  call.products = static_cast<double*>(memory.data());
  dispatch_coarse(columns_, [&]<class Layout, class Storage>() {
    launch_coarse_products<Layout, Storage>(call, SiteRange(aggregates_.groups()));
  });
  memory.copy_to_host(products.data(), memory.bytes());
  return products;
}

std::vector<DenseMatrix> CoarseProlongator::grams() const {
  const int n = vectors();
  const std::vector<double> products = products_with(columns_, all_sites_);
  std::vector<DenseMatrix> all;
  for (int group = 0; group < aggregates_.groups(); ++group)
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      DenseMatrix& G = all.emplace_back(n);
      for (int column = 0; column < n; ++column)
        for (int row = 0; row < n; ++row) {
          const size_t at = 2 * ((size_t(group) * size_t(n) + size_t(column)) * size_t(2 * n) +
                                 size_t(chirality * n + row));
          G.at(row, column) = {products[at], products[at + 1]};
        }
    }
  return all;
}

std::vector<int> CoarseProlongator::dependent_columns(double least) const {
  std::vector<double> worst(size_t(vectors()), 1.0);
  for (const DenseMatrix& G : grams()) {
    const std::vector<double> parts = independent_parts(G, least);
    for (size_t j = 0; j < worst.size(); ++j) worst[j] = std::min(worst[j], parts[j]);
  }
  std::vector<int> dependent;
  for (size_t j = 0; j < worst.size(); ++j)
    if (!(columns_.lattice().communicator().minimum(worst[j]) > least)) dependent.push_back(int(j));
  return dependent;
}

void CoarseProlongator::mix_columns(SiteField& V, const std::vector<DenseMatrix>& matrices) const {
  const size_t n = size_t(vectors());
  std::vector<double> mixing(2 * n * n * matrices.size());
  for (size_t k = 0; k < matrices.size(); ++k)
    for (size_t j = 0; j < n; ++j)
      for (size_t i = 0; i <= j; ++i) {
        const std::complex<double> z = matrices[k].at(int(i), int(j));
        double* p = mixing.data() + 2 * ((k * n + j) * n + i);
        p[0] = z.real();
        p[1] = z.imag();
      }
  Memory memory(mixing.size() * sizeof(double), columns_.spec().backend);
  memory.copy_from_host(mixing.data(), memory.bytes());
  for (int parity = 0; parity < 2; ++parity) {
    CoarseMixCall call;
    call.group_of = group_of_[parity].data();
    call.field = V.raw(parity);
    call.reals = columns_.reals();
    call.vectors = vectors();
    call.matrix = static_cast<const double*>(memory.data());
    dispatch_coarse(columns_, [&]<class Layout, class Storage>() {
      launch_coarse_mix<Layout, Storage>(call, SiteRange(columns_.layout().blocks(parity)));
    });
  }
}

void CoarseProlongator::mix(SiteField& V, const DenseMatrix& matrix) const {
  TRELLIS_REQUIRE(
      V.layout_ptr() == columns_.layout_ptr() && V.spec() == columns_.spec() && matrix.n == vectors(),
      "mixing columns of a coarse field: it is not like the prolongator's columns");
  mix_columns(V, std::vector<DenseMatrix>(size_t(chiralities * aggregates_.groups()), matrix));
}

double CoarseProlongator::mix_by_products(double least, DenseMatrix* gram) {
  std::vector<DenseMatrix> matrices = grams();
  std::vector<ExactSum> sums(gram ? size_t(2 * vectors() * vectors()) : 0);
  double worst = 1;
  for (DenseMatrix& matrix : matrices) {
    for (size_t k = 0; k < sums.size() / 2; ++k) {
      sums[2 * k].add(matrix.values[k].real());
      sums[2 * k + 1].add(matrix.values[k].imag());
    }
    TriangularFactor factor = inverse_of_cholesky_factor(matrix);
    if (!(factor.least_pivot >= worst)) worst = factor.least_pivot;
    matrix = std::move(factor.inverse);
  }
  Communicator& communicator = columns_.lattice().communicator();
  if (gram) {
    communicator.sum(sums.data(), int(sums.size()));
    *gram = DenseMatrix(vectors());
    for (size_t k = 0; k < gram->values.size(); ++k)
      gram->values[k] = {sums[2 * k].value(), sums[2 * k + 1].value()};
  }
  worst = communicator.minimum(worst == worst ? worst : -1.0);
  if (worst > least) mix_columns(columns_, matrices);
  return worst;
}

double CoarseProlongator::orthonormalise(double least, DenseMatrix* gram) {
  const double worst = mix_by_products(least, gram);
  if (worst > least) mix_by_products(0, nullptr);
  return worst;
}

}  // namespace trellis
