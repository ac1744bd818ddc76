#include "reference/multigrid/cycle.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

LevelMap exact_solver(const LevelOperator& D) {
  return [lu = std::make_shared<const LU>(D.dense())](const LevelVector& b) { return lu->solve(b); };
}

GcrSolution flexible_gcr(const LevelMap& D, const LevelVector& b, double tolerance, int max_iterations,
                         const LevelMap& K) {
  GcrSolution result{LevelVector(b.size(), Complex<double>{0, 0}), {}};
  const double b_norm = std::sqrt(norm2(b));
  if (b_norm == 0) return result;
  LevelVector r = b;
  std::vector<LevelVector> directions, images;  // they are z and w with |w| = 1
  while (int(result.residuals.size()) < max_iterations) {
    LevelVector z = K ? K(r) : r, w = D(z);
    for (size_t k = 0; k < images.size(); ++k) {
      const std::complex<double> c = dot(images[k], w);
      add_scaled(w, -c, images[k]);
      add_scaled(z, -c, directions[k]);
    }
    const double length = std::sqrt(norm2(w));
    if (length == 0) break;  // D z lies in the space that is there: this direction gains nothing
    images.push_back(scaled(1 / length, w));
    directions.push_back(scaled(1 / length, z));
    const std::complex<double> alpha = dot(images.back(), r);
    add_scaled(result.x, alpha, directions.back());
    add_scaled(r, -alpha, images.back());
    result.residuals.push_back(std::sqrt(norm2(r)) / b_norm);
    if (result.residuals.back() < tolerance) break;
  }
  return result;
}

LevelSchur::LevelSchur(LevelOperatorPtr D) : D_{std::move(D)} {
  for (const int extent : D_->extents())
    TRELLIS_REQUIRE(extent % 2 == 0, "the level ", to_string(D_->extents()),
                    " has an odd extent; its even-odd form needs even ones");
  for (int64_t x = 0; x < D_->volume(); ++x) inverse_.push_back(D_->self_inverse(x));
}

LevelVector LevelSchur::hop(const LevelVector& v) const {
  const size_t n = size_t(D_->components());
  LevelVector out(v.size(), Complex<double>{0, 0});
  for (int64_t x = 0; x < D_->volume(); ++x)
    for (int step = 0; step < 8; ++step)
      D_->add_leg(&out[size_t(x) * n], x, step, &v[size_t(D_->neighbour_of(x, step)) * n]);
  return out;
}

LevelVector LevelSchur::self_inverse(const LevelVector& v) const {
  const size_t n = size_t(D_->components());
  LevelVector out(v.size(), Complex<double>{0, 0});
  for (size_t x = 0; x < inverse_.size(); ++x) multiply_add(&out[x * n], inverse_[x], &v[x * n]);
  return out;
}

LevelVector LevelSchur::apply(const LevelVector& v) const {
  const LevelVector even = restricted_to(*D_, v, 0);
  return difference(even, self_inverse(hop(self_inverse(hop(even)))));
}

LevelVector LevelSchur::source(const LevelVector& b) const {
  const LevelVector odd = self_inverse(restricted_to(*D_, b, 1));
  return self_inverse(difference(restricted_to(*D_, b, 0), hop(odd)));
}

LevelVector LevelSchur::solution(const LevelVector& x, const LevelVector& b) const {
  const LevelVector even = restricted_to(*D_, x, 0);
  LevelVector all = self_inverse(difference(restricted_to(*D_, b, 1), hop(even)));
  add_scaled(all, 1, even);
  return all;
}

Smoother schwarz_smoother(std::shared_ptr<const Schwarz> schwarz, int cycles) {
  return [schwarz, cycles](LevelVector& x, const LevelVector& b) {
    for (int i = 0; i < cycles; ++i) schwarz->cycle(x, b);
  };
}

CoarseSolver exact_coarse_solver() {
  return [](const std::shared_ptr<const CoarseOperator>& D) { return exact_solver(*D); };
}

CoarseSolver gcr_coarse_solver(double tolerance, int max_iterations) {
  return [=](const std::shared_ptr<const CoarseOperator>& D) -> LevelMap {
    const auto S = std::make_shared<const LevelSchur>(D);
    return [=](const LevelVector& b) {
      const auto apply = [&](const LevelVector& v) { return S->apply(v); };
      return S->solution(flexible_gcr(apply, S->source(b), tolerance, max_iterations).x, b);
    };
  };
}

TwoGrid::TwoGrid(LevelOperatorPtr D, const Coord& aggregate, std::vector<LevelVector> test_vectors,
                 Smoother smoother, CoarseSolver coarse_solver)
    : D_{std::move(D)},
      test_vectors_{std::move(test_vectors)},
      P_{Blocks(D_->extents(), aggregate), D_->components(), test_vectors_},
      coarse_{std::make_shared<const CoarseOperator>(*D_, P_)},
      smoother_{std::move(smoother)},
      make_solver_{std::move(coarse_solver)},
      solve_coarse_{make_solver_(coarse_)} {}

LevelVector TwoGrid::coarse_correction(const LevelVector& r) const {
  return P_.prolong(solve_coarse_(P_.restrict(r)));
}

LevelVector TwoGrid::cycle(const LevelVector& r) const {
  LevelVector x = coarse_correction(r);
  smoother_(x, r);
  return x;
}

TwoGrid TwoGrid::after_sweep() const {
  std::vector<LevelVector> orthonormal, next;
  for (LevelVector v : test_vectors_) {
    for (const LevelVector& u : orthonormal) add_scaled(v, -dot(u, v), u);
    orthonormal.push_back(normalised(v));
  }
  for (const LevelVector& v : orthonormal) next.push_back(normalised(cycle(v)));
  return TwoGrid(D_, P_.aggregates().block(), std::move(next), smoother_, make_solver_);
}

std::vector<LevelVector> initial_test_vectors(const Schwarz& schwarz, std::vector<LevelVector> random) {
  for (LevelVector& v : random) {
    for (const int cycles : {1, 2, 3}) v = schwarz.from_zero(v, cycles);
    v = normalised(v);
  }
  return random;
}

}  // namespace trellis::reference
