#include "reference/multigrid/coarse_operator.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

Prolongator::Prolongator(const Blocks& aggregates, int components, std::vector<LevelVector> test_vectors)
    : aggregates_{aggregates}, components_{components}, columns_{std::move(test_vectors)} {
  const int64_t most = product(aggregates_.block()) * components_ / 2;
  TRELLIS_REQUIRE(!columns_.empty() && int64_t(columns_.size()) <= most, columns_.size(),
                  " test vectors for aggregates of ", to_string(aggregates_.block()), " sites with ",
                  components_ / 2, " components of each chirality: take 1 to ", most);
  for (const auto& v : columns_)
    TRELLIS_REQUIRE(int64_t(v.size()) == product(aggregates_.lattice()) * components_, "a test vector has ",
                    v.size(), " components on ", product(aggregates_.lattice()), " sites, expected ",
                    components_, " a site");
  for (int64_t X = 0; X < aggregates_.count(); ++X)
    for (const int chirality : {0, 1}) orthonormalise(X, chirality);
}

void Prolongator::orthonormalise(int64_t aggregate, int chirality) {
  std::vector<size_t> places;
  for (const int64_t site : aggregates_.sites(aggregate))
    for (int i = 0; i < components_ / 2; ++i)
      places.push_back(size_t(site * components_ + chirality * components_ / 2 + i));
  const auto local_dot = [&](const LevelVector& a, const LevelVector& b) {
    Complex<double> sum{0, 0};
    for (const size_t i : places) conj_mul_add(sum, a[i], b[i]);
    return sum;
  };
  for (size_t k = 0; k < columns_.size(); ++k) {
    LevelVector& v = columns_[k];
    const double before = std::sqrt(local_dot(v, v).re);
    for (int pass = 0; pass < 2; ++pass)
      for (size_t j = 0; j < k; ++j) {
        const Complex<double> c = local_dot(columns_[j], v);
        for (const size_t i : places) mul_add(v[i], -c, columns_[j][i]);
      }
    const double norm = std::sqrt(local_dot(v, v).re);
    // Rounding leaves 1e-16 of a vector that depends on others; its direction is noise.
    if (!(norm > 1e-12 * before))
      throw NumericError(message("test vector ", k, " depends on the vectors before it in aggregate ",
                                 aggregate, ", chirality ", chirality == 0 ? "+1" : "-1",
                                 ": leave it out or take another one"));
    for (const size_t i : places) v[i] = (1 / norm) * v[i];
  }
}

LevelVector Prolongator::prolong(const LevelVector& coarse) const {
  const size_t n = columns_.size();
  TRELLIS_REQUIRE(coarse.size() == size_t(aggregates_.count()) * 2 * n, "a coarse vector has ", coarse.size(),
                  " components, expected ", 2 * n, " on each of ", aggregates_.count(), " sites");
  LevelVector fine(columns_.front().size(), Complex<double>{0, 0});
  for (size_t i = 0; i < fine.size(); ++i) {
    const int64_t X = aggregates_.block_of(int64_t(i) / components_);
    const size_t first = size_t(X) * 2 * n + size_t(chirality_of(i % size_t(components_))) * n;
    for (size_t k = 0; k < n; ++k) mul_add(fine[i], columns_[k][i], coarse[first + k]);
  }
  return fine;
}

LevelVector Prolongator::restrict(const LevelVector& fine) const {
  const size_t n = columns_.size();
  TRELLIS_REQUIRE(fine.size() == columns_.front().size(), "a vector of ", fine.size(),
                  " components is restricted by a P with ", columns_.front().size(), " rows");
  LevelVector coarse(size_t(aggregates_.count()) * 2 * n, Complex<double>{0, 0});
  for (size_t i = 0; i < fine.size(); ++i) {
    const int64_t X = aggregates_.block_of(int64_t(i) / components_);
    const size_t first = size_t(X) * 2 * n + size_t(chirality_of(i % size_t(components_))) * n;
    for (size_t k = 0; k < n; ++k) conj_mul_add(coarse[first + k], columns_[k][i], fine[i]);
  }
  return coarse;
}

CoarseOperator::CoarseOperator(const LevelOperator& D, const Prolongator& P)
    : LevelOperator(P.aggregates().grid(), 2 * P.vectors()),
      self_(size_t(volume()), Matrix(components(), components())),
      forward_(size_t(4 * volume()), Matrix(components(), components())),
      even_(size_t(volume()), Matrix(components(), components())) {
  TRELLIS_REQUIRE(P.aggregates().lattice() == D.extents() && P.fine_components() == D.components(),
                  "the prolongator belongs to ", P.fine_components(), " components on the lattice ",
                  to_string(P.aggregates().lattice()), ", the operator has ", D.components(), " on ",
                  to_string(D.extents()));
  for (int column = 0; column < components(); ++column) add_column(D, P, column);
}

namespace {
/// These are the terms of D p for one column of P in all aggregates at once, kept apart by where they go.
struct GalerkinTerms {
  LevelVector self, even;
  std::array<LevelVector, Nd> forward;

  GalerkinTerms(const LevelOperator& D, const Blocks& aggregates, const LevelVector& p)
      : self(p.size(), Complex<double>{0, 0}), even{self}, forward{self, self, self, self} {
    const size_t n = size_t(D.components());
    for (int64_t x = 0; x < D.volume(); ++x) {
      const size_t here = size_t(x) * n;
      D.add_self(&self[here], x, &p[here]);
      D.add_even_chirality(&even[here], x, &p[here]);
      for (int step = 0; step < 8; ++step) {
        const Complex<double>* there = &p[size_t(D.neighbour_of(x, step)) * n];
        if (!aggregates.leaves(x, step))
          D.add_leg(&self[here], x, step, there);
        else if (step == reference::forward(direction(step)))
          D.add_leg(&forward[size_t(direction(step))][here], x, step, there);
      }
    }
  }
};
}  // namespace

void CoarseOperator::add_column(const LevelOperator& D, const Prolongator& P, int column) {
  LevelVector coarse(size(), Complex<double>{0, 0});
  for (int64_t X = 0; X < volume(); ++X) coarse[size_t(X * components() + column)] = {1, 0};
  const GalerkinTerms terms(D, P.aggregates(), P.prolong(coarse));
  const auto store = [&](std::vector<Matrix>& matrices, int of_site, int offset, const LevelVector& term) {
    const LevelVector projected = P.restrict(term);
    for (int64_t X = 0; X < volume(); ++X)
      for (int row = 0; row < components(); ++row)
        matrices[size_t(of_site * X + offset)](row, column) = projected[size_t(X * components() + row)];
  };
  store(self_, 1, 0, terms.self);
  store(even_, 1, 0, terms.even);
  for (int mu = 0; mu < Nd; ++mu) store(forward_, 4, mu, terms.forward[size_t(mu)]);
}

void CoarseOperator::add_self(Complex<double>* out, int64_t X, const Complex<double>* in) const {
  multiply_add(out, self_[size_t(X)], in);
}

void CoarseOperator::add_even_chirality(Complex<double>* out, int64_t X, const Complex<double>* in) const {
  multiply_add(out, even_[size_t(X)], in);
}

void CoarseOperator::add_leg(Complex<double>* out, int64_t X, int step, const Complex<double>* in) const {
  const int mu = direction(step), n = components() / 2;
  if (step == forward(mu)) return multiply_add(out, forward_leg(X, mu), in);
  const Matrix& F = forward_leg(neighbour_of(X, step), mu);
  for (int i = 0; i < 2 * n; ++i)
    for (int j = 0; j < 2 * n; ++j) {
      const double sign = (i < n) == (j < n) ? 1 : -1;
      conj_mul_add(out[i], sign * F(j, i), in[j]);
    }
}

CoarseOperator CoarseOperator::shifted(double mass, double twisted_mass, double even_twisted_mass) const {
  CoarseOperator result = *this;
  for (size_t X = 0; X < self_.size(); ++X) {
    Matrix& A = result.self_[X];
    for (int i = 0; i < components(); ++i) {
      A(i, i) = A(i, i) + Complex<double>{mass, i < components() / 2 ? twisted_mass : -twisted_mass};
      for (int j = 0; j < components(); ++j)
        mul_add(A(i, j), Complex<double>{0, even_twisted_mass}, even_[X](i, j));
    }
  }
  return result;
}

}  // namespace trellis::reference
