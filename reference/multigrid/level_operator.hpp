#pragma once
/// This file has vectors and operators of a multigrid level, the finest one included
/// (doc/operators/multigrid.md):
///
///   (D v)(x) = A(x) v(x) + sum_mu [ F_mu(x) v(x+mu) + B_mu(x) v(x-mu) ]
///
/// A site has `components` numbers. The first half of them has chirality +1, the second half -1, and gamma5
/// is that sign on every level. On the finest level the component is 3 spin + colour, F_mu is the forward
/// term of -H/2 and B_mu the backward one.
#include <memory>

#include "reference/multigrid/matrix.hpp"
#include "reference/wilson.hpp"

namespace trellis::reference {

/// A vector has the numbers [components site + component], with lexicographic sites, x fastest.
using LevelVector = std::vector<Complex<double>>;

LevelVector to_level(const SpinorVector& v);
SpinorVector to_spinors(const LevelVector& v);

/// Computes y += a x.
void add_scaled(LevelVector& y, std::complex<double> a, const LevelVector& x);
LevelVector scaled(std::complex<double> a, const LevelVector& x);
LevelVector difference(const LevelVector& a, const LevelVector& b);
/// Returns the sum of conj(a) b.
std::complex<double> dot(const LevelVector& a, const LevelVector& b);
double norm2(const LevelVector& a);
/// Returns x / |x|.
LevelVector normalised(const LevelVector& x);
/// Returns the sign of each component's chirality times v.
LevelVector gamma5_times(int components, const LevelVector& v);

class LevelOperator {
 public:
  /// @pre components is even and positive
  LevelOperator(const Coord& extents, int components);
  virtual ~LevelOperator() = default;

  const Coord& extents() const { return extents_; }
  int components() const { return components_; }
  int64_t volume() const { return product(extents_); }
  size_t size() const { return size_t(volume()) * size_t(components_); }
  int64_t neighbour_of(int64_t x, int step) const { return neighbours_[size_t(8 * x + step)]; }

  /// Computes out += A(x) in. `out` and `in` are the components of a site here and below.
  virtual void add_self(Complex<double>* out, int64_t x, const Complex<double>* in) const = 0;
  /// Computes out += F_mu(x) in for the step forward(mu), and B_mu(x) in for backward(mu).
  virtual void add_leg(Complex<double>* out, int64_t x, int step, const Complex<double>* in) const = 0;
  /// Computes out += E(x) in, where E is gamma5 on the even sites of the finest level: i rho E is a twisted
  /// mass there.
  virtual void add_even_chirality(Complex<double>* out, int64_t x, const Complex<double>* in) const = 0;

  /// Returns D v.
  LevelVector apply(const LevelVector& v) const;
  Matrix self_matrix(int64_t x) const;           ///< it returns A(x)
  Matrix self_inverse(int64_t x) const;          ///< A(x)^-1. Throws NumericError where A(x) is singular.
  Matrix leg_matrix(int64_t x, int step) const;  ///< it returns F_mu(x) or B_mu(x)
  /// Returns all of D. Where two steps lead to the same neighbour, the matrix has the sum of both.
  Matrix dense() const;

 protected:
  LevelOperator(const LevelOperator&) = default;

 private:
  Coord extents_;
  int components_;
  std::vector<int64_t> neighbours_;  // the index is [8 site + step]
};

using LevelOperatorPtr = std::shared_ptr<const LevelOperator>;

/// The finest level is a Wilson operator, with i rho gamma5 on its even sites.
class WilsonLevel final : public LevelOperator {
 public:
  explicit WilsonLevel(const WilsonOperator& D, double even_twisted_mass = 0);

  void add_self(Complex<double>* out, int64_t x, const Complex<double>* in) const override;
  void add_leg(Complex<double>* out, int64_t x, int step, const Complex<double>* in) const override;
  void add_even_chirality(Complex<double>* out, int64_t x, const Complex<double>* in) const override;

 private:
  std::vector<ColorMatrix<double>> links_;  // they are -a_mu z_mu(x) U_mu(x) / 2, [4 site + mu]
  std::vector<Matrix> self_;                // a site has two chiral blocks, 6x6
};

/// Returns v on the sites of one parity, and zero elsewhere.
LevelVector restricted_to(const LevelOperator& D, const LevelVector& v, int parity);

}  // namespace trellis::reference
