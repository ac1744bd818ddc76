#include "trellis/solver/eigen/block_lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "trellis/base/clock.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/solver/eigen/lanczos_basis.hpp"
#include "trellis/solver/normal_operator.hpp"

namespace trellis {

namespace {
/// The first `count` vectors have these Rayleigh quotients and |A v - lambda v|.
struct Quality {
  std::vector<double> values, residuals;
};
Quality judge(const LinearOperator& A, const Vectors& vectors, int count, int block, SolveCost& cost) {
  Quality q;
  for (int first = 0; first < count; first += block) {
    const int n = std::min(block, count - first);
    SpinorField v = A.make_field(n), image = A.make_field(n);
    for (int c = 0; c < n; ++c) copy_columns(v, c, vectors[size_t(first + c)], 0, 1);
    A.apply(image, v);
    const ComplexCoefficients quotient = dot_each(v, image);
    Coefficients minus;
    for (const auto& z : quotient) minus.push_back(-z.real());
    const Coefficients r2 = combine_norm2(image, Coefficients(size_t(n), 1.0), image, minus, v);
    for (int c = 0; c < n; ++c) {
      q.values.push_back(quotient[size_t(c)].real());
      q.residuals.push_back(std::sqrt(r2[size_t(c)]));
    }
    cost.add_applications(A, n, 1);
    cost.add_linear_algebra(v, 2, 0, 0, 0);  // these are the copies
    cost.add_linear_algebra(v, 2, 4, 1, 1);
    cost.add_linear_algebra(v, 3, 5, 1, 1);
  }
  return q;
}

class Lanczos {
 public:
  Lanczos(const LinearOperatorPtr& A, const LanczosSpec& spec)
      : normal_{A}, spec_{spec}, basis_{normal_, spec.block, spec.seed, cost_} {
    const SpinorField probe = A->make_field(1);
    TRELLIS_REQUIRE(probe.precision() == Precision::double_precision,
                    "lanczos works in double; the eigenvectors may be kept in lower storage");
    TRELLIS_REQUIRE(spec.storage != Precision::fp16_precision,
                    "lanczos: eigenvectors are kept in double, float or half; their components are too small "
                    "for fp16");
    TRELLIS_REQUIRE(spec.count >= 1 && spec.block >= 1, "lanczos: count ", spec.count, " and block ",
                    spec.block, " are at least 1");
    TRELLIS_REQUIRE(spec.tolerance > 0 && spec.tolerance < 1,
                    "lanczos: the tolerance lies between 0 and 1, not ", spec.tolerance);
    TRELLIS_REQUIRE(spec.max_restarts >= 1, "lanczos: at least 1 restart, not ", spec.max_restarts);
    const double dimension = double(probe.sites()) * probe.slots() * probe.reals() / 2;
    if (spec_.basis == 0)
      spec_.basis = std::max(spec.count + 2 * spec.block,
                             int(std::min(2.0 * spec.count + 4.0 * spec.block, dimension / 2)));
    const int least = spec.count + 2 * spec.block;
    TRELLIS_REQUIRE(least <= dimension / 2, "lanczos: ", spec.count, " modes in blocks of ", spec.block,
                    " need a basis of at least ", least, " vectors, but half the dimension is ",
                    dimension / 2, "; a dense spectrum has all modes of so small an operator");
    TRELLIS_REQUIRE(spec_.basis >= least && spec_.basis <= dimension / 2, "lanczos: a basis of ", spec_.basis,
                    " vectors is not between count + 2 block = ", least, " and half the dimension, ",
                    dimension / 2);
    TRELLIS_REQUIRE(!spec.start || (spec.start->count() >= 1 && spec.start->are_like_fields_of(*A)),
                    "lanczos: the vectors to begin with live on another lattice, parity or number of slices "
                    "than fields of ",
                    A->name());
    name_ = A->name();
  }

  Eigenvectors run();

 private:
  void estimate_upper();
  ChebyshevFilter make_filter(double cutoff) const;
  bool refine_filter(std::optional<ChebyshevFilter>& filter, const Quality& quality, int keep);
  void begin_from(const Eigenvectors& start);
  Eigenvectors finish();

  NormalOperator normal_;
  LanczosSpec spec_;
  SolveCost cost_;
  LanczosBasis basis_;
  std::string name_;
  double upper_ = 0;
  int refinements_ = 0;
};

/// Finds the largest Ritz value of a few unfiltered steps, and adds 10 % for what it misses. Above a bound
/// that is given the filter would magnify what it should damp, and the search would take the highest modes
/// for the lowest.
void Lanczos::estimate_upper() {
  basis_.begin_at_random();
  const int steps = std::min(10, std::max(2, spec_.basis / spec_.block));
  for (int i = 0; i < steps; ++i) basis_.extend(nullptr);
  const double largest = -basis_.ritz_values().front();
  TRELLIS_REQUIRE(spec_.upper == 0 || spec_.upper >= largest, "lanczos: upper = ", spec_.upper,
                  " does not bound the spectrum of ", name_, ": it has eigenvalues of at least ", largest);
  upper_ = spec_.upper > 0 ? spec_.upper : 1.1 * largest;
  TRELLIS_REQUIRE(spec_.cutoff < upper_, "lanczos: the cutoff, ", spec_.cutoff,
                  ", is not below the upper end of the spectrum, about ", upper_);
  basis_.begin_at_random();
}

/// Chooses a degree that makes a mode at zero about 70 times as large as one at the cutoff.
ChebyshevFilter Lanczos::make_filter(double cutoff) const {
  const double bounded = std::clamp(cutoff, 1e-8 * upper_, 0.5 * upper_);
  const int automatic = int(std::ceil(2.5 * std::sqrt(upper_ / bounded)));
  return ChebyshevFilter(normal_, spec_.degree > 0 ? spec_.degree : std::clamp(automatic, 4, 1000), bounded,
                         upper_);
}

/// The cutoff should lie a little above the wanted modes. If it does not, the search begins anew with another
/// filter, from mixtures of the vectors found so far.
bool Lanczos::refine_filter(std::optional<ChebyshevFilter>& filter, const Quality& quality, int keep) {
  if (spec_.cutoff > 0 || refinements_ >= 4) return false;
  const double last = quality.values.back(), cutoff = filter->cutoff();
  if (last > 0.25 * cutoff && last < 0.9 * cutoff) return false;
  const double better = last * 1.5;
  if (better > 0.5 * upper_ && cutoff >= 0.5 * upper_) return false;
  ++refinements_;
  Vectors block;
  for (int c = 0; c < spec_.block; ++c) {
    block.push_back(normal_.make_field(1));
    for (int i = c; i < keep; i += spec_.block) subtract(block.back(), -1.0, basis_.vectors()[size_t(i)]);
  }
  basis_.begin(std::move(block));
  filter.emplace(make_filter(better));
  return true;
}

/// Begins with blocks of mixtures: each vector of the block has every block-th of the modes.
void Lanczos::begin_from(const Eigenvectors& start) {
  Vectors block;
  SpinorField single = normal_.make_field(1);
  for (int c = 0; c < spec_.block; ++c) {
    block.push_back(normal_.make_field(1));
    for (int i = c % start.count(); i < start.count(); i += spec_.block) {
      convert(single, start.vectors[size_t(i)]);
      subtract(block.back(), -1.0, single);
    }
  }
  basis_.begin(std::move(block));
}

Eigenvectors Lanczos::run() {
  const Stopwatch watch;
  estimate_upper();
  const double known_cutoff = spec_.start ? spec_.start->cutoff : 0;
  const double cutoff = spec_.cutoff > 0 ? spec_.cutoff : known_cutoff > 0 ? known_cutoff : upper_ / 20;
  if (spec_.start) begin_from(*spec_.start);
  std::optional<ChebyshevFilter> filter(make_filter(cutoff));
  const int keep = std::min(spec_.count + spec_.block, spec_.basis - spec_.block);
  bool converged = false;
  int restarts = 0;
  for (; restarts < spec_.max_restarts && !converged; ++restarts) {
    while (basis_.size() + spec_.block <= spec_.basis) basis_.extend(&*filter);
    basis_.restart(keep);
    const Quality quality = judge(normal_, basis_.vectors(), keep, spec_.block, cost_);
    double worst = 0;
    for (int i = 0; i < spec_.count; ++i) worst = std::max(worst, quality.residuals[size_t(i)]);
    converged = worst <= 0.9 * spec_.tolerance * upper_;  // finish() judges again what it has mixed
    if (!converged && restarts + 1 < spec_.max_restarts) refine_filter(filter, quality, keep);
  }
  Eigenvectors result = finish();
  result.converged = converged && *std::max_element(result.relative_residual.begin(),
                                                    result.relative_residual.end()) <= spec_.tolerance;
  result.restarts = restarts;
  result.degree = filter->degree();
  result.cutoff = filter->cutoff();
  result.flops = cost_.flops;
  result.bytes = cost_.bytes;
  result.seconds = watch.seconds();
  return result;
}

/// Does a step of Rayleigh and Ritz with A^dagger A itself, in ascending order, and then compresses.
Eigenvectors Lanczos::finish() {
  const Vectors found = basis_.take();
  const int n = int(found.size());
  DenseMatrix H(n);
  SpinorField image = normal_.make_field(1);
  for (int j = 0; j < n; ++j) {
    normal_.apply(image, found[size_t(j)]);
    const size_t count = size_t(j) + 1;
    const FieldCoefficients overlaps = dots_each(first_of(found, count), image);
    cost_.add_applications(normal_, 1, 1);
    cost_.add_linear_algebra(image, double(count) + std::ceil(double(count) / 16), 4.0 * double(count),
                             launches_of(found.front(), image, count), 1);
    for (int i = 0; i <= j; ++i) H.at(i, j) = overlaps[size_t(i)][0];
    stop_point();
  }
  const HermitianEigensystem ritz = diagonalise(H);
  std::vector<std::vector<std::complex<double>>> mixtures;
  for (int k = 0; k < spec_.count; ++k) {
    mixtures.emplace_back();
    for (int i = 0; i < n; ++i) mixtures.back().push_back(ritz.vectors.at(i, k));
  }
  const Vectors rotated = mixed(found, mixtures, cost_);
  const Quality quality = judge(normal_, rotated, spec_.count, spec_.block, cost_);
  Eigenvectors result;
  result.values = quality.values;
  result.upper = upper_;
  result.tolerance = spec_.tolerance;
  result.operator_name = name_;
  for (const double r : quality.residuals) result.relative_residual.push_back(r / upper_);
  for (const SpinorField& v : rotated) {
    FieldSpec spec = v.spec();
    spec.precision = spec_.storage;
    if (spec.precision != v.precision()) spec.lanes = 0;
    SpinorField compressed(v.lattice_ptr(), spec);
    convert(compressed, v);
    result.vectors.push_back(std::move(compressed));
  }
  return result;
}
}  // namespace

Eigenvectors lanczos(const LinearOperatorPtr& A, const LanczosSpec& spec) {
  TRELLIS_REQUIRE(A != nullptr, "lanczos needs an operator");
  return Lanczos(A, spec).run();
}

}  // namespace trellis
