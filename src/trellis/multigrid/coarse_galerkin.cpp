#include "trellis/base/error.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/multigrid/galerkin.hpp"

namespace trellis {

namespace {

/// Puts the columns of both chiralities apart: the result has 2 n columns, of which each has one half of the
/// numbers of a site.
SiteField columns_of_chiralities(const CoarseProlongator& P) {
  const SiteField& columns = P.columns();
  FieldSpec spec = columns.spec();
  spec.rhs = 2 * columns.rhs();
  SiteField apart(columns.lattice_ptr(), spec);
  const size_t half = size_t(columns.reals() / 2);
  std::vector<double> reals(2 * half), part(2 * half);
  on_host(apart, [&](SiteField& out) {
    on_host(columns, [&](const SiteField& in) {
      for (int parity = 0; parity < 2; ++parity)
        for (int site = 0; site < in.layout().blocks(parity); ++site)
          for (int j = 0; j < in.rhs(); ++j) {
            const SitePosition at{parity, site, 0};
            in.get_site(at, j, reals.data());
            for (size_t chirality = 0; chirality < 2; ++chirality) {
              part.assign(2 * half, 0.0);
              for (size_t i = chirality * half; i < (chirality + 1) * half; ++i) part[i] = reals[i];
              out.set_site(at, int(chirality) * in.rhs() + j, part.data());
            }
          }
    });
  });
  return apart;
}

/// Computes sum += T + g5 T^dagger g5 for each aggregate: matrices by columns, [column][row][re, im].
void add_with_adjoints(std::vector<double>& sum, const std::vector<double>& T, int rows) {
  const size_t n = size_t(rows), of_matrix = 2 * n * n;
  for (size_t first = 0; first < sum.size(); first += of_matrix)
    for (size_t column = 0; column < n; ++column)
      for (size_t row = 0; row < n; ++row) {
        const size_t at = first + 2 * (column * n + row), other = first + 2 * (row * n + column);
        const double sign = (row < n / 2) == (column < n / 2) ? 1 : -1;
        sum[at] += T[at] + sign * T[other];
        sum[at + 1] += T[at + 1] - sign * T[other + 1];
      }
}

void set_matrices(SiteField& field, int slot, const CoarseProlongator& P, const std::vector<double>& all) {
  on_host(field, [&](SiteField& host) {
    const size_t of_matrix = size_t(host.reals());
    for (int group = 0; group < P.aggregates().groups(); ++group)
      host.set_site(host.layout().position(P.aggregates().coarse_coord(group, 0)), slot,
                    all.data() + size_t(group) * of_matrix);
  });
}

}  // namespace

CoarseMatrixPtr galerkin_product(const CoarseMatrix& D, const CoarseProlongator& P) {
  TRELLIS_REQUIRE(D.field_spec(Subset::full, P.vectors()) == P.columns().spec(),
                  "the coarse operator does not act on fields like the columns of the prolongator");
  const int rows = 2 * P.vectors();
  const SiteField columns = columns_of_chiralities(P);
  SiteField image = SiteField::like(columns);
  FieldSpec spec = P.coarse_spec(1);
  spec.reals = 2 * rows * rows;
  SiteField diagonal(P.coarser_lattice(), spec);
  spec.rhs = Nd;
  SiteField links(P.coarser_lattice(), spec);
  for (int parity = 0; parity < 2; ++parity) D.multiply(image, parity, columns, nullptr, false, false);
  std::vector<double> on_site = P.products_with(image, P.aggregates().all());
  D.forward_legs(image, columns, [&](int mu) {
    add_with_adjoints(on_site, P.products_with(image, P.aggregates().inner(mu)), rows);
    set_matrices(links, mu, P, P.products_with(image, P.aggregates().face(mu)));
  });
  set_matrices(diagonal, 0, P, on_site);
  return std::make_shared<CoarseMatrix>(links, std::move(diagonal), P.columns().precision());
}

}  // namespace trellis
