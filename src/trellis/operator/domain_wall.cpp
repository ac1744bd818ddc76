#include "trellis/operator/domain_wall.hpp"

#include <optional>

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"

namespace trellis {

namespace {
std::string describe(const DomainWallParams& p) {
  const bool is_shamir = p.b5.size() == 1 && p.c5.size() == 1 && p.b5[0] == 1.0 && p.c5[0] == 0.0;
  return message(is_shamir ? "Shamir" : "Moebius", " domain wall, Ls = ", p.Ls);
}
double five_volume(const DomainWallMatrix& m) { return double(m.lattice().volume()) * m.params().Ls; }
double spinor_bytes(const DomainWallMatrix& m) {
  const double scale = double(scale_bytes(m.choice().precision));
  return 24.0 * double(element_bytes(m.choice().precision)) + scale;
}
}  // namespace

SpinorField& DomainWallOperator::workspace(int rhs) const {
  auto& field = workspace_[rhs];
  if (!field) field = std::make_unique<SpinorField>(make_field(rhs));
  return *field;
}

/// It computes out = M in - 1/2 H B in, or M^dagger in - 1/2 B^dagger H^dagger in.
void DomainWallOperator::multiply(SpinorField& out, const SpinorField& in, bool is_dagger,
                                  ColumnSums&) const {
  SpinorField& work = workspace(in.rhs());
  if (is_dagger) {
    for (int parity = 0; parity < 2; ++parity) {
      matrix_->apply_fifth(work, in, parity, FifthMatrix::M, true);
      matrix_->apply_hop_then_fifth(out, parity, in, FifthMatrix::B, true, -0.5, &work);
    }
    return;
  }
  for (int parity = 0; parity < 2; ++parity) {
    matrix_->apply_fifth(work, in, parity, FifthMatrix::B, false);
    matrix_->apply_fifth(out, in, parity, FifthMatrix::M, false);
  }
  for (int parity = 0; parity < 2; ++parity) matrix_->apply_hop_plus(out, parity, work, -0.5, out, false);
}

namespace {
/// Counts the work without messages and launches.
Cost work_of_full(const DomainWallMatrix& m, int columns) {
  const double flops =
      wilson_hop_flops + 48.0 + m.fifth_flops(FifthMatrix::B) + m.fifth_flops(FifthMatrix::M);
  return cost_of(five_volume(m) * columns * flops,
                 double(m.lattice().volume()) * m.hop().bytes_per_site(columns * m.params().Ls) +
                     5 * columns * five_volume(m) * spinor_bytes(m));
}
}  // namespace

Cost DomainWallOperator::cost(int columns) const {
  Cost cost = work_of_full(*matrix_, columns);
  cost += 2 * matrix_->hop().hop_cost(columns * matrix_->params().Ls);
  cost.launches += 4;
  return cost;
}

Cost DomainWallOperator::dagger_cost(int columns) const {
  Cost cost = work_of_full(*matrix_, columns);
  cost += 2 * matrix_->hop().hop_cost(columns * matrix_->params().Ls, 1);
  cost.launches += 2;
  return cost;
}

LinearOperatorPtr DomainWallOperator::converted(Precision precision) const {
  return std::make_shared<DomainWallOperator>(matrix_->converted(precision));
}

std::shared_ptr<const SchurOperator> DomainWallOperator::schur(SchurForm form) const {
  return std::make_shared<DomainWallSchur>(matrix_, form);
}

std::string DomainWallOperator::name() const { return describe(matrix_->params()); }

DomainWallSchur::DomainWallSchur(DomainWallMatrixPtr matrix, SchurForm form, int parity)
    : matrix_{std::move(matrix)}, form_{form}, parity_{parity} {
  TRELLIS_REQUIRE(parity == 0 || parity == 1, "parity ", parity, " is not 0 (even) or 1 (odd)");
}

SpinorField& DomainWallSchur::workspace(int which, int parity, int rhs) const {
  auto& field = workspace_[{which, parity, rhs}];
  if (!field) field = std::make_unique<SpinorField>(matrix_->make_field(subset_of(parity), rhs));
  return *field;
}

/// The symmetric form is out = in - 1/4 H K H K in. The asymmetric form, M in - 1/4 H K H B in, is that times
/// M.
void DomainWallSchur::run(SpinorField& out, const SpinorField& in, TileNorms* norms) const {
  const bool is_symmetric = form_ == SchurForm::symmetric;
  SpinorField& even = workspace(0, parity_, in.rhs());
  SpinorField& odd = workspace(1, 1 - parity_, in.rhs());
  const SpinorField* diagonal = &in;
  if (!is_symmetric) {
    matrix_->apply_fifth(workspace(2, parity_, in.rhs()), in, parity_, FifthMatrix::M, false);
    diagonal = &workspace(2, parity_, in.rhs());
  }
  const FifthMatrix before = is_symmetric ? FifthMatrix::K : FifthMatrix::B;
  matrix_->hop().apply_twice(
      out, odd, parity_, even, matrix_->hop_then_fifth(odd, 1 - parity_, FifthMatrix::K, false),
      DomainWallMatrix::hop_plus(-0.25, *diagonal, false, norms),
      [&](const SiteRange& sites) { matrix_->apply_fifth(even, in, parity_, before, false, sites); });
}

/// The symmetric form is out = in - 1/4 K^dagger H^dagger K^dagger H^dagger in, the asymmetric one M^dagger
/// in - 1/4 B^dagger H^dagger K^dagger H^dagger in.
void DomainWallSchur::run_dagger(SpinorField& out, const SpinorField& in, TileNorms* norms) const {
  const bool is_symmetric = form_ == SchurForm::symmetric;
  SpinorField& odd = workspace(1, 1 - parity_, in.rhs());
  const SpinorField* diagonal = &in;
  if (!is_symmetric) {
    matrix_->apply_fifth(workspace(2, parity_, in.rhs()), in, parity_, FifthMatrix::M, true);
    diagonal = &workspace(2, parity_, in.rhs());
  }
  const FifthMatrix after = is_symmetric ? FifthMatrix::K : FifthMatrix::B;
  matrix_->hop().apply_twice(out, odd, parity_, in,
                             matrix_->hop_then_fifth(odd, 1 - parity_, FifthMatrix::K, true),
                             matrix_->hop_then_fifth(out, parity_, after, true, -0.25, diagonal, norms));
}

void DomainWallSchur::multiply(SpinorField& out, const SpinorField& in, bool is_dagger,
                               ColumnSums& sums) const {
  std::optional<TileNorms> norms;
  if (sums.wants_norm2) norms.emplace(out);
  is_dagger ? run_dagger(out, in, norms ? &*norms : nullptr) : run(out, in, norms ? &*norms : nullptr);
  if (!norms) return;
  sums.norm2 = norms->values();
  sums.book(out, 0, matrix_->hop().launches_then(out.slots()));
}

Cost DomainWallSchur::cost_of_form(int columns, bool is_dagger) const {
  const bool is_symmetric = form_ == SchurForm::symmetric;
  const double fifth = is_symmetric
                           ? 2 * matrix_->fifth_flops(FifthMatrix::K)
                           : matrix_->fifth_flops(FifthMatrix::K) + matrix_->fifth_flops(FifthMatrix::M) +
                                 matrix_->fifth_flops(FifthMatrix::B);
  const double half = 0.5 * double(matrix_->lattice().volume());
  const int slots = columns * matrix_->params().Ls;
  Cost cost = cost_of(0.5 * five_volume(*matrix_) * columns * (2 * wilson_hop_flops + 48.0 + fifth),
                      half * 2 * matrix_->hop().bytes_per_site(slots) +
                          1.5 * columns * five_volume(*matrix_) * spinor_bytes(*matrix_));
  cost.conventional_flops = columns * conventional_flops();
  cost += matrix_->hop().hop_cost(slots, 1);
  cost += matrix_->hop().hop_cost(slots, is_dagger ? 1 : 0);
  cost.launches += (is_dagger ? 0 : 1) + (is_symmetric ? 0 : 1);
  return cost;
}

/// QUDA's asymmetric form counts in this way (lib/dirac_mobius.cpp until 2020): it has two hops, two passes
/// of b5 + c5 L, a dense M^-1 and the diagonal; S and S^dagger have 9816 flop a site and slice at Ls = 12,
/// 12110 at 20.
double DomainWallSchur::conventional_flops() const {
  const double Ls = matrix_->params().Ls;
  const double before_hop = 168 + 48 / Ls, inverse = 144 * Ls, diagonal = 192 + 48 / Ls;
  return 0.5 * five_volume(*matrix_) * (2 * wilson_hop_flops + inverse + 2 * before_hop + diagonal);
}

Cost DomainWallSchur::fifth_cost(FifthMatrix T, int columns) const {
  const double half = 0.5 * five_volume(*matrix_) * columns;
  Cost cost = cost_of(half * matrix_->fifth_flops(T), 2 * half * spinor_bytes(*matrix_));
  cost.launches = 1;
  return cost;
}

Cost DomainWallSchur::hop_plus_cost(int columns) const {
  const int slots = columns * matrix_->params().Ls;
  const double half = 0.5 * five_volume(*matrix_) * columns;
  return cost_of(half * (wilson_hop_flops + 48.0),
                 0.5 * double(matrix_->lattice().volume()) * matrix_->hop().bytes_per_site(slots) +
                     half * spinor_bytes(*matrix_)) +
         matrix_->hop().hop_cost(slots);
}

Cost DomainWallSchur::source_cost(int columns) const {
  return fifth_cost(FifthMatrix::K, columns) + hop_plus_cost(columns);
}

Cost DomainWallSchur::guess_cost(int columns) const {
  return form_ == SchurForm::symmetric ? fifth_cost(FifthMatrix::M, columns) : copy_cost(columns);
}

Cost DomainWallSchur::reconstruction_cost(int columns) const {
  const Cost inverse = fifth_cost(FifthMatrix::M_inverse, columns);
  return (form_ == SchurForm::symmetric ? inverse : copy_cost(columns)) +
         fifth_cost(FifthMatrix::B, columns) + hop_plus_cost(columns) + inverse;
}

LinearOperatorPtr DomainWallSchur::converted(Precision precision) const {
  return std::make_shared<DomainWallSchur>(matrix_->converted(precision), form_, parity_);
}

std::string DomainWallSchur::name() const {
  return "even-odd " + describe(matrix_->params()) +
         (form_ == SchurForm::symmetric ? " (symmetric)" : " (asymmetric)");
}

void DomainWallSchur::prepare_source(SpinorField& schur_source, const SpinorField& b) const {
  SpinorField& odd = workspace(1, 1 - parity_, b.rhs());
  matrix_->apply_fifth(odd, b, 1 - parity_, FifthMatrix::K, false);
  matrix_->apply_hop_plus(schur_source, parity_, odd, 0.5, b, false);
}

void DomainWallSchur::prepare_guess(SpinorField& schur_guess, const SpinorField& x) const {
  if (form_ == SchurForm::symmetric)
    matrix_->apply_fifth(schur_guess, x, parity_, FifthMatrix::M, false);
  else
    extract_parity(schur_guess, x);
}

void DomainWallSchur::reconstruct(SpinorField& x, const SpinorField& schur_solution,
                                  const SpinorField& b) const {
  SpinorField& even = workspace(0, parity_, b.rhs());
  SpinorField& odd = workspace(1, 1 - parity_, b.rhs());
  const bool is_symmetric = form_ == SchurForm::symmetric;
  if (is_symmetric)
    matrix_->apply_fifth(x, schur_solution, parity_, FifthMatrix::M_inverse, false);
  else
    insert_parity(x, schur_solution);
  matrix_->apply_fifth(even, x, parity_, FifthMatrix::B, false);
  matrix_->apply_hop_plus(odd, 1 - parity_, even, 0.5, b, false);
  matrix_->apply_fifth(x, odd, 1 - parity_, FifthMatrix::M_inverse, false);
}

}  // namespace trellis
