#include "reference/multigrid/schwarz.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"

namespace trellis::reference {

/// Each block uses its own sites of these vectors.
struct Schwarz::Workspace {
  LevelVector r, q, odd;
};

namespace {
/// Returns D_BB as a matrix; the row of site sites[i] and component c is components i + c.
Matrix block_matrix(const LevelOperator& D, const Blocks& blocks, int64_t block) {
  const auto& sites = blocks.sites(block);
  const int n = D.components();
  std::vector<int> place(size_t(D.volume()), -1);
  for (size_t i = 0; i < sites.size(); ++i) place[size_t(sites[i])] = int(i);
  Matrix result(int(sites.size()) * n, int(sites.size()) * n);
  const auto add = [&](int row, int column, const Matrix& term) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        result(row * n + i, column * n + j) = result(row * n + i, column * n + j) + term(i, j);
  };
  for (size_t i = 0; i < sites.size(); ++i) {
    add(int(i), int(i), D.self_matrix(sites[i]));
    for (int step = 0; step < 8; ++step)
      if (!blocks.leaves(sites[i], step))
        add(int(i), place[size_t(D.neighbour_of(sites[i], step))], D.leg_matrix(sites[i], step));
  }
  return result;
}
}  // namespace

Schwarz::Schwarz(LevelOperatorPtr D, const Coord& block, BlockSolver solver, int steps)
    : D_{std::move(D)}, blocks_{D_->extents(), block}, solver_{solver}, steps_{steps} {
  for (int mu = 0; mu < Nd; ++mu) {
    const int count = blocks_.grid()[mu];
    TRELLIS_REQUIRE(count == 1 || count % 2 == 0, "blocks of ", to_string(block), " on the lattice ",
                    to_string(D_->extents()), " are ", count, " in direction ", mu,
                    "; two colours need one block or an even number of them in each direction");
    TRELLIS_REQUIRE(solver != BlockSolver::mr_even_odd || D_->extents()[mu] % 2 == 0, "the lattice ",
                    to_string(D_->extents()), " has an odd extent; even-odd block solves need even ones");
  }
  by_parity_.resize(size_t(blocks_.count()));
  for (int64_t B = 0; B < blocks_.count(); ++B)
    for (const int64_t x : blocks_.sites(B))
      by_parity_[size_t(B)][size_t(site_parity(site_coord(x, D_->extents())))].push_back(x);
  if (solver == BlockSolver::exact)
    for (int64_t B = 0; B < blocks_.count(); ++B) block_factors_.emplace_back(block_matrix(*D_, blocks_, B));
  if (solver != BlockSolver::mr_even_odd) return;
  self_inverse_.resize(size_t(D_->volume()));
  for (const auto& parities : by_parity_)
    for (const int64_t x : parities[1]) self_inverse_[size_t(x)] = D_->self_inverse(x);
}

LevelVector Schwarz::correction(const LevelVector& r, std::optional<int> colour) const {
  LevelVector x(r.size(), Complex<double>{0, 0});
  Workspace work{r, x, x};
  for (int64_t B = 0; B < blocks_.count(); ++B) {
    if (colour && blocks_.colour(B) != *colour) continue;
    switch (solver_) {
      case BlockSolver::exact:
        solve_exactly(x, r, B);
        break;
      case BlockSolver::mr_full:
        minimise_full(x, B, work);
        break;
      case BlockSolver::mr_even_odd:
        minimise_even_odd(x, B, work);
        break;
    }
  }
  return x;
}

void Schwarz::cycle(LevelVector& x, const LevelVector& b) const {
  const int colours = blocks_.count() == 1 ? 1 : 2;
  for (int colour = 0; colour < colours; ++colour)
    add_scaled(x, 1, correction(difference(b, D_->apply(x)), colour));
}

void Schwarz::additive_cycle(LevelVector& x, const LevelVector& b) const {
  add_scaled(x, 1, correction(difference(b, D_->apply(x))));
}

LevelVector Schwarz::from_zero(const LevelVector& b, int cycles) const {
  LevelVector x(b.size(), Complex<double>{0, 0});
  for (int i = 0; i < cycles; ++i) cycle(x, b);
  return x;
}

void Schwarz::solve_exactly(LevelVector& x, const LevelVector& r, int64_t block) const {
  const size_t n = size_t(D_->components());
  std::vector<Complex<double>> local;
  for (const int64_t site : blocks_.sites(block))
    for (size_t i = 0; i < n; ++i) local.push_back(r[size_t(site) * n + i]);
  local = block_factors_[size_t(block)].solve(local);
  size_t at = 0;
  for (const int64_t site : blocks_.sites(block))
    for (size_t i = 0; i < n; ++i) x[size_t(site) * n + i] = local[at++];
}

void Schwarz::minimise_full(LevelVector& x, int64_t block, Workspace& work) const {
  const Sites& sites = blocks_.sites(block);
  for (int k = 0; k < steps_; ++k) {
    set_self(work.q, work.r, sites);
    add_inner_legs(work.q, 1, work.r, sites);
    minimal_residual_step(x, work.r, work.q, sites);
  }
}

void Schwarz::minimise_even_odd(LevelVector& x, int64_t block, Workspace& work) const {
  const auto& [even, odd] = by_parity_[size_t(block)];
  set_self_inverse(work.odd, work.r, odd);
  add_inner_legs(work.r, -1, work.odd, even);  // this leaves r_e - D_eo A_oo^-1 r_o; r_o stays
  for (int k = 0; k < steps_; ++k) {
    clear(work.q, odd);
    add_inner_legs(work.q, 1, work.r, odd);
    set_self_inverse(work.odd, work.q, odd);  // this is A_oo^-1 D_oe r_e
    set_self(work.q, work.r, even);
    add_inner_legs(work.q, -1, work.odd, even);
    minimal_residual_step(x, work.r, work.q, even);
  }
  add_inner_legs(work.r, -1, x, odd);  // this leaves r_o - D_oe x_e
  set_self_inverse(x, work.r, odd);
}

LevelVector Schwarz::block_diagonal(const LevelVector& v) const {
  LevelVector out(v.size(), Complex<double>{0, 0});
  for (int64_t B = 0; B < blocks_.count(); ++B) {
    set_self(out, v, blocks_.sites(B));
    add_inner_legs(out, 1, v, blocks_.sites(B));
  }
  return out;
}

void Schwarz::clear(LevelVector& v, const Sites& sites) const {
  const size_t n = size_t(D_->components());
  for (const int64_t x : sites)
    for (size_t i = 0; i < n; ++i) v[size_t(x) * n + i] = {0, 0};
}

void Schwarz::set_self(LevelVector& out, const LevelVector& v, const Sites& sites) const {
  const size_t n = size_t(D_->components());
  clear(out, sites);
  for (const int64_t x : sites) D_->add_self(&out[size_t(x) * n], x, &v[size_t(x) * n]);
}

void Schwarz::set_self_inverse(LevelVector& out, const LevelVector& v, const Sites& sites) const {
  const size_t n = size_t(D_->components());
  clear(out, sites);
  for (const int64_t x : sites)
    multiply_add(&out[size_t(x) * n], self_inverse_[size_t(x)], &v[size_t(x) * n]);
}

void Schwarz::add_inner_legs(LevelVector& out, double factor, const LevelVector& v,
                             const Sites& sites) const {
  const size_t n = size_t(D_->components());
  LevelVector sum(n);
  for (const int64_t x : sites) {
    std::fill(sum.begin(), sum.end(), Complex<double>{0, 0});
    for (int step = 0; step < 8; ++step) {
      const int64_t y = D_->neighbour_of(x, step);
      if (blocks_.block_of(y) == blocks_.block_of(x)) D_->add_leg(sum.data(), x, step, &v[size_t(y) * n]);
    }
    for (size_t i = 0; i < n; ++i) out[size_t(x) * n + i] = out[size_t(x) * n + i] + factor * sum[i];
  }
}

void Schwarz::minimal_residual_step(LevelVector& x, LevelVector& r, const LevelVector& q,
                                    const Sites& sites) const {
  const size_t n = size_t(D_->components());
  Complex<double> qr{0, 0};
  double qq = 0;
  for (const int64_t site : sites)
    for (size_t i = size_t(site) * n; i < (size_t(site) + 1) * n; ++i) {
      conj_mul_add(qr, q[i], r[i]);
      qq += norm2(q[i]);
    }
  if (qq == 0) return;
  const Complex<double> alpha = (1 / qq) * qr;
  for (const int64_t site : sites)
    for (size_t i = size_t(site) * n; i < (size_t(site) + 1) * n; ++i) {
      mul_add(x[i], alpha, r[i]);
      mul_add(r[i], -alpha, q[i]);
    }
}

}  // namespace trellis::reference
