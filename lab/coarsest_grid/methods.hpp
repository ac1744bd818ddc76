#pragma once
/// These methods solve the even-odd system of a coarse operator loosely, S x = b, and count what they ask of
/// a network. All of them work on fields of one right-hand side, in the storage of S.
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "trellis/field/many_fields.hpp"
#include "trellis/solver/eigen/eigenvectors.hpp"

namespace trellis::lab {

/// It says what a solve took.
struct Count {
  int applications = 0;  ///< it counts those of S or S^dagger: two exchanges with the neighbours each
  int sums = 0;          ///< it counts global reductions
  int box_solves = 0;
  bool converged = false;

  Count& operator+=(const Count& other) {
    applications += other.applications;
    sums += other.sums;
    box_solves += other.box_solves;
    return *this;
  }
};

/// It has S, and what is done with it.
class System {
 public:
  System(const LinearOperator& S, double tolerance) : S{S}, tolerance{tolerance} {}
  void apply(SpinorField& out, const SpinorField& in) {
    S.apply(out, in);
    ++count.applications;
  }
  void apply_dagger(SpinorField& out, const SpinorField& in) {
    S.apply_dagger(out, in);
    ++count.applications;
  }
  /// Computes z = K r with a preconditioner that neither sends nor sums; without one it copies r.
  void precondition(SpinorField& z, const SpinorField& r) {
    if (!K) return copy(z, r);
    K(z, r);
    ++count.box_solves;
  }
  const LinearOperator& S;
  double tolerance;
  std::function<void(SpinorField& z, const SpinorField& r)> K = {};
  Count count;
};

/// Low modes are taken out in one of these ways.
enum class Deflation {
  none,
  by_applications,  ///< x = V lambda^-1 V^dagger S^dagger b by three applications, as deflated solvers do
  images,           ///< the same from the images S V, which are kept: one sum, no application
  kept              ///< GCR has V among its directions from the start: its residuals stay orthogonal to S V
};

/// They are V and S V, and the images are orthonormal.
struct Modes {
  std::vector<SpinorField> vectors, images;
};
inline Modes modes_of(const LinearOperator& S, const Eigenvectors& found) {
  Modes modes;
  for (const SpinorField& vector : found.vectors) {
    SpinorField& v = modes.vectors.emplace_back(S.make_field(1));
    SpinorField& image = modes.images.emplace_back(SpinorField::like(v));
    convert(v, vector);
    S.apply(image, v);
    for (int pass = 0; pass < 2; ++pass) {  // images of Ritz vectors are orthogonal but for rounding
      const FieldList before = first_of(modes.images, modes.images.size() - 1);
      const FieldCoefficients c = dots_each(before, image);
      if (before.empty()) continue;
      subtract_each(image, c, before);
      subtract_each(v, c, first_of(modes.vectors, modes.vectors.size() - 1));
    }
    const double length = std::sqrt(norm2_each(image)[0]);
    combine(image, 1 / length, image, 0.0, image);
    combine(v, 1 / length, v, 0.0, v);
  }
  return modes;
}

inline FieldCoefficients negative_of(FieldCoefficients c) {
  for (auto& column : c)
    for (auto& value : column) value = -value;
  return c;
}
inline FieldList all_of(const std::vector<SpinorField>& fields) { return first_of(fields, fields.size()); }

/// Adds what the modes give to x, and takes S of that from r.
inline void deflate(System& system, Deflation how, const Eigenvectors* found, const Modes& modes,
                    SpinorField& x, SpinorField& r) {
  ++system.count.sums;  // |r|^2 comes with the products where the images are kept
  if (how == Deflation::none) return;
  if (how == Deflation::by_applications) {
    SolveCost cost;
    found->deflate(system.S, x, r, cost);
    SpinorField image = SpinorField::like(r);
    system.apply(image, x);
    combine(r, 1.0, r, -1.0, image);
    system.count.applications += 2;  // deflate() takes them: S of the guess, which is zero here, and S^dagger
    ++system.count.sums;
    return;
  }
  const FieldCoefficients c = dots_each(all_of(modes.images), r);
  subtract_each(r, c, all_of(modes.images));
  subtract_each(x, negative_of(c), all_of(modes.vectors));
}

/// It has directions whose images are orthonormal, with modes among them from the start.
struct KrylovSpace {
  std::vector<SpinorField> directions, images;
  explicit KrylovSpace(const Modes* kept) {
    if (!kept) return;
    directions = kept->vectors;
    images = kept->images;
  }
};

/// GCR runs without restarts, with one sum a step. The `kept` modes are among its images.
inline void gcr(System& system, SpinorField& x, SpinorField& r, const Modes* kept, int most) {
  KrylovSpace space(kept);
  double left2 = norm2_each(r)[0];
  const double target2 = system.tolerance * system.tolerance * left2;
  for (int step = 0; step < most && left2 > target2; ++step) {
    SpinorField p = SpinorField::like(r), z = SpinorField::like(r);
    system.precondition(p, r);
    system.apply(z, p);
    ++system.count.sums;
    for (int pass = 0; pass < 2 && !space.images.empty(); ++pass) {  // the second pass mends rounding alone
      const FieldCoefficients c = dots_each(all_of(space.images), z);
      subtract_each(z, c, all_of(space.images));
      subtract_each(p, c, all_of(space.directions));
    }
    const double length = std::sqrt(norm2_each(z)[0]);
    combine(z, 1 / length, z, 0.0, z);
    combine(p, 1 / length, p, 0.0, p);
    const std::complex<double> alpha = dot_each(z, r)[0];
    combine(r, ComplexCoefficients{1.0}, r, ComplexCoefficients{-alpha}, z);
    combine(x, ComplexCoefficients{1.0}, x, ComplexCoefficients{alpha}, p);
    left2 -= std::norm(alpha);
    space.directions.push_back(std::move(p));
    space.images.push_back(std::move(z));
  }
  system.count.converged = left2 <= target2;
}

/// Returns points of an interval each of which has the largest product of distances from those before.
inline std::vector<double> leja_points(double radius, int count) {
  std::vector<double> points{1 + radius};
  while (int(points.size()) < count) {
    double best = 1, largest = -1;
    for (int i = -200; i <= 200; ++i) {
      const double x = 1 + radius * i / 200;
      double product = 1;
      for (const double point : points) product *= std::abs(x - point);
      if (product > largest) {
        largest = product;
        best = x;
      }
    }
    points.push_back(radius > 0 ? best : 1);
  }
  return points;
}

/// The vectors of a block of s steps follow one another: v_{i+1} comes from S v_i and earlier ones.
enum class Basis { power, newton, chebyshev };

/// Makes a block before it is made orthonormal: directions K v_i and images S K v_i.
inline void make_block(System& system, const SpinorField& r, int s, Basis basis, double radius,
                       std::vector<SpinorField>& p, std::vector<SpinorField>& z) {
  const std::vector<double> points = leja_points(radius, s);
  std::vector<SpinorField> v{r};
  for (int i = 0; i < s; ++i) {
    SpinorField& last = v[size_t(i)];
    system.precondition(p.emplace_back(SpinorField::like(r)), last);
    system.apply(z.emplace_back(SpinorField::like(r)), p.back());
    if (i + 1 == s) return;
    SpinorField next = SpinorField::like(r);
    if (basis == Basis::power) copy(next, z.back());
    if (basis == Basis::newton) combine(next, 1.0, z.back(), -points[size_t(i)], last);
    if (basis == Basis::chebyshev) {
      const double factor = (i == 0 ? 1 : 2) / radius;
      combine(next, factor, z.back(), -factor, last);
      if (i > 0) combine(next, 1.0, next, -1.0, v[size_t(i) - 1]);
    }
    v.push_back(std::move(next));
  }
}

/// Runs GCR in blocks of s steps with one sum each, without restarts (s-step Krylov methods: A. T.
/// Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25 (1989) 153). Products of a block with itself, with
/// earlier images and with r are one sum; norms follow by subtraction. A block ends where a vector has too
/// little that is new.
inline void s_step_gcr(System& system, SpinorField& x, SpinorField& r, const Modes* kept, int s, Basis basis,
                       double radius, int most) {
  constexpr double least_new = 1e-5;
  KrylovSpace space(kept);
  double left2 = norm2_each(r)[0];
  const double target2 = system.tolerance * system.tolerance * left2;
  for (int step = 0; step < most && left2 > target2; step += s) {
    std::vector<SpinorField> p, z;
    make_block(system, r, s, basis, radius, p, z);
    ++system.count.sums;
    const size_t n = size_t(s);
    std::vector<std::vector<std::complex<double>>> G(n, std::vector<std::complex<double>>(n));
    std::vector<std::complex<double>> overlap(n);
    std::vector<double> before(n);
    const FieldList earlier = all_of(space.images);
    std::vector<FieldCoefficients> c(n);
    for (size_t j = 0; j < n; ++j) {
      if (!earlier.empty()) c[j] = dots_each(earlier, z[j]);
      const FieldCoefficients own = dots_each(first_of(z, j + 1), z[j]);
      for (size_t i = 0; i <= j; ++i) {
        G[i][j] = own[i][0];
        for (size_t e = 0; e < earlier.size(); ++e) G[i][j] -= std::conj(c[i][e][0]) * c[j][e][0];
      }
      before[j] = own[j][0].real();
      overlap[j] = dot_each(z[j], r)[0];
    }
    size_t rank = 0;  // G = R^dagger R gives R in the place of G
    for (; rank < n; ++rank) {
      for (size_t i = 0; i <= rank; ++i) {
        for (size_t k = 0; k < i; ++k) G[i][rank] -= std::conj(G[k][i]) * G[k][rank];
        if (i < rank) G[i][rank] /= G[i][i].real();
      }
      if (!(G[rank][rank].real() > least_new * before[rank])) break;
      G[rank][rank] = std::sqrt(G[rank][rank].real());
    }
    if (rank == 0) return;
    const double left2_before = left2;
    for (size_t j = 0; j < rank; ++j) {
      if (!earlier.empty()) {
        subtract_each(z[j], c[j], earlier);
        subtract_each(p[j], c[j], first_of(space.directions, earlier.size()));
      }
      std::complex<double> alpha = overlap[j];
      for (size_t i = 0; i < j; ++i) {
        combine(z[j], ComplexCoefficients{1.0}, z[j], ComplexCoefficients{-G[i][j]}, z[i]);
        combine(p[j], ComplexCoefficients{1.0}, p[j], ComplexCoefficients{-G[i][j]}, p[i]);
        alpha -= std::conj(G[i][j]) * overlap[i];
      }
      const double length = G[j][j].real();
      combine(z[j], 1 / length, z[j], 0.0, z[j]);
      combine(p[j], 1 / length, p[j], 0.0, p[j]);
      overlap[j] = alpha / length;
      combine(r, ComplexCoefficients{1.0}, r, ComplexCoefficients{-overlap[j]}, z[j]);
      combine(x, ComplexCoefficients{1.0}, x, ComplexCoefficients{overlap[j]}, p[j]);
      left2 -= std::norm(overlap[j]);
    }
    if (!(left2 < left2_before)) return;
    for (size_t j = 0; j < rank; ++j) {
      space.directions.push_back(std::move(p[j]));
      space.images.push_back(std::move(z[j]));
    }
  }
  system.count.converged = left2 <= target2;
}

/// Runs Chebyshev iteration for spectra in the ellipses with foci 1 +- sqrt(d2) (T. A. Manteuffel, Numer.
/// Math. 28 (1977) 307), which takes no sums. It stops by looking at |r| as no program on many ranks could:
/// at the fewest steps.
inline void chebyshev(System& system, SpinorField& x, SpinorField& r, double d2, int most) {
  const double start2 = norm2_each(r)[0], target2 = system.tolerance * system.tolerance * start2;
  SpinorField step = r, image = SpinorField::like(r);
  double alpha = 1;
  for (int n = 0; n < most; ++n) {
    if (n > 0) {
      alpha = n == 1 ? 2 / (2 - d2) : 1 / (1 - d2 / 4 * alpha);
      combine(step, alpha, r, alpha - 1, step);
    }
    combine(x, 1.0, x, 1.0, step);
    system.apply(image, step);
    combine(r, 1.0, r, -1.0, image);
    const double left2 = norm2_each(r)[0];
    system.count.converged = left2 <= target2;
    if (system.count.converged || !(left2 < 1e4 * start2)) return;
  }
}

/// Does the same for S^dagger S with eigenvalues in [lower, upper].
inline void normal_chebyshev(System& system, SpinorField& x, SpinorField& r, double lower, double upper,
                             int most) {
  const double target2 = system.tolerance * system.tolerance * norm2_each(r)[0];
  const double centre = (upper + lower) / 2, d2 = (upper - lower) * (upper - lower) / 4;
  SpinorField step = SpinorField::like(r), image = SpinorField::like(r), gradient = SpinorField::like(r);
  double alpha = 1 / centre;
  for (int n = 0; n < most; ++n) {
    system.apply_dagger(gradient, r);
    if (n > 0) alpha = n == 1 ? 2 * centre / (2 * centre * centre - d2) : 1 / (centre - d2 / 4 * alpha);
    combine(step, alpha, gradient, n == 0 ? 0.0 : centre * alpha - 1, step);
    combine(x, 1.0, x, 1.0, step);
    system.apply(image, step);
    combine(r, 1.0, r, -1.0, image);
    system.count.converged = norm2_each(r)[0] <= target2;
    if (system.count.converged) return;
  }
}

/// Returns an estimate of the largest |eigenvalue| of 1 - S: growth over the last half of the steps.
inline double spectral_radius(const LinearOperator& S, const SpinorField& start, int steps) {
  SpinorField v = start, image = SpinorField::like(start);
  double logs = 0;
  for (int i = 0; i < steps; ++i) {
    combine(v, 1 / std::sqrt(norm2_each(v)[0]), v, 0.0, v);
    S.apply(image, v);
    combine(v, 1.0, v, -1.0, image);
    if (i >= steps / 2) logs += std::log(norm2_each(v)[0]) / 2;
  }
  return std::exp(logs / (steps - steps / 2));
}

}  // namespace trellis::lab
