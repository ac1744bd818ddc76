#pragma once
/// The sink of a nucleon of the form `full` is a source here (measure/three_point.hpp). Two quarks at a site
/// are contracted, and spins and colours of the third one are left open,
///
///   C2 = w e_abc e_a'b'c' [ U(alpha a, alpha' a') U(gamma c, delta c') - U(alpha a, delta c') U(gamma c,
///   alpha' a') ] D(beta b, beta' b')
///
/// It is summed over a list of spins with their weights w, and K has sum tr[K F] = C2 with U of up (D of
/// down) replaced in turn by F.
#include "trellis/kernels/contract/momentum_phases.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

/// It has the spins of (u d u) at the sink, those at the source, and w.
struct NucleonSpins {
  int alpha, beta, gamma, alpha_source, beta_source, delta;
  double re, im;
};

struct NucleonSinkShape {
  const NucleonSpins* spins = nullptr;
  int count = 0;
  double up = 0, down = 0;    ///< the lines that carry the current have these weights
  MomentumPhaseTable phases;  ///< they belong to one momentum
  Complex<double> wrapped{1.0, 0.0};
};

/// It is a matrix of a site: entry 12 (3 spin + colour) + 3 spin' + colour'.
struct SpinColourMatrix {
  static constexpr int size = 12;
  Complex<double> e[size * size];
  TRELLIS_SITE_FN Complex<double>& at(int row, int column) { return e[size * row + column]; }
  TRELLIS_SITE_FN const Complex<double>& at(int row, int column) const { return e[size * row + column]; }
};

/// Returns a b by four products and two sums, each rounded by itself: these are the bits that sequential
/// sources have in files that were written before GPUs computed them.
TRELLIS_SITE_FN Complex<double> rounded_product(const Complex<double>& a, const Complex<double>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// Returns a b by two products that are rounded and two that are fused with the sums, as g++ made the terms
/// of up lines in those files.
TRELLIS_SITE_FN Complex<double> fused_product(const Complex<double>& a, const Complex<double>& b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

/// A term has these rows and columns of the quarks, with a sign in w.
struct NucleonTerm {
  int alpha, beta, gamma, alpha2, beta2, delta;
  Complex<double> w;
};
TRELLIS_SITE_FN NucleonTerm nucleon_term(const NucleonSpins& t, int sink, int source) {
  // The six permutations of three colours come with the even ones first: 012, 120, 201, 021, 210, 102.
  const int a = sink < 3 ? sink : (6 - sink) % 3, b = (a + (sink < 3 ? 1 : 2)) % 3, c = 3 - a - b;
  const int a2 = source < 3 ? source : (6 - source) % 3, b2 = (a2 + (source < 3 ? 1 : 2)) % 3,
            c2 = 3 - a2 - b2;
  const double sign = (sink < 3) == (source < 3) ? 1.0 : -1.0;
  return {3 * t.alpha + a,        3 * t.beta + b,   3 * t.gamma + c,           3 * t.alpha_source + a2,
          3 * t.beta_source + b2, 3 * t.delta + c2, {sign * t.re, sign * t.im}};
}

TRELLIS_SITE_FN void add_nucleon_term(SpinColourMatrix& K, const SpinColourMatrix& U,
                                      const SpinColourMatrix& D, const NucleonSinkShape& shape,
                                      const NucleonSpins& spins, int sink, int source) {
  const NucleonTerm t = nucleon_term(spins, sink, source);
  if (shape.down != 0.0) {
    const Complex<double> pair = rounded_product(U.at(t.alpha, t.alpha2), U.at(t.gamma, t.delta)) -
                                 rounded_product(U.at(t.alpha, t.delta), U.at(t.gamma, t.alpha2));
    K.at(t.beta2, t.beta) = K.at(t.beta2, t.beta) + rounded_product(shape.down * t.w, pair);
  }
  if (shape.up == 0.0) return;
  const Complex<double> wd = rounded_product(shape.up * t.w, D.at(t.beta, t.beta2));
  K.at(t.alpha2, t.alpha) = K.at(t.alpha2, t.alpha) + fused_product(wd, U.at(t.gamma, t.delta));
  K.at(t.delta, t.gamma) = K.at(t.delta, t.gamma) + fused_product(wd, U.at(t.alpha, t.alpha2));
  K.at(t.delta, t.alpha) = K.at(t.delta, t.alpha) - fused_product(wd, U.at(t.gamma, t.alpha2));
  K.at(t.alpha2, t.gamma) = K.at(t.alpha2, t.gamma) - fused_product(wd, U.at(t.alpha, t.delta));
}

/// Adds what the same term adds to one row of K. The rows beta2, alpha2 and delta have different colours.
template <class Quark>
TRELLIS_SITE_FN void add_nucleon_term_to_row(Complex<double> (&K)[SpinColourMatrix::size], int row,
                                             const Quark& U, const Quark& D, const NucleonSinkShape& shape,
                                             const NucleonTerm& t) {
  if (row == t.beta2) {
    if (shape.down == 0.0) return;
    const Complex<double> pair = rounded_product(U.at(t.alpha, t.alpha2), U.at(t.gamma, t.delta)) -
                                 rounded_product(U.at(t.alpha, t.delta), U.at(t.gamma, t.alpha2));
    K[t.beta] = K[t.beta] + rounded_product(shape.down * t.w, pair);
  } else if (shape.up != 0.0 && (row == t.alpha2 || row == t.delta)) {
    const Complex<double> wd = rounded_product(shape.up * t.w, D.at(t.beta, t.beta2));
    const int more = row == t.alpha2 ? t.alpha : t.gamma, less = row == t.alpha2 ? t.gamma : t.alpha;
    const int column = row == t.alpha2 ? t.delta : t.alpha2;
    K[more] = K[more] + fused_product(wd, U.at(less, column));
    K[less] = K[less] - fused_product(wd, U.at(more, column));
  }
}

TRELLIS_SITE_FN void nucleon_sink(SpinColourMatrix& K, const SpinColourMatrix& U, const SpinColourMatrix& D,
                                  const NucleonSinkShape& shape) {
  for (int i = 0; i < SpinColourMatrix::size * SpinColourMatrix::size; ++i) K.e[i] = {0.0, 0.0};
  for (int n = 0; n < shape.count; ++n)
    for (int sink = 0; sink < 6; ++sink)
      for (int source = 0; source < 6; ++source)
        add_nucleon_term(K, U, D, shape, shape.spins[n], sink, source);
}
/// Sets a column of the source to gamma5 conj(phase row), with that row of K: b[re, im of 12].
TRELLIS_SITE_FN void nucleon_sink_column(double (&b)[24], const Complex<double>* row,
                                         const Complex<double>& phase) {
  for (int i = 0; i < SpinColourMatrix::size; ++i) {
    const Complex<double> z = rounded_product(phase, row[i]);
    b[2 * i] = i < 6 ? z.re : -z.re;
    b[2 * i + 1] = i < 6 ? -z.im : z.im;
  }
}

struct NucleonSinkCall {
  RawField up, down;  ///< they are propagators of one parity
  RawField out;       ///< it has twelve columns in double
  NucleonSinkShape shape;
  SiteCoordinates coordinates;  ///< they belong to that parity
};

/// It computes a column of a site's source on a device.
template <class Layout, class Storage>
class NucleonSinkColumn {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  explicit NucleonSinkColumn(const NucleonSinkCall& call)
      : up_{call.up}, down_{call.down}, out_{call.out}, shape_{call.shape}, coordinates_{call.coordinates} {}

  TRELLIS_SITE_FN void operator()(int site, int column) const {
    const QuarkAtSite U{up_, site}, D{down_, site};
    Complex<double> row[SpinColourMatrix::size];
    for (Complex<double>& z : row) z = {0.0, 0.0};
    for (int n = 0; n < shape_.count; ++n)
      for (int sink = 0; sink < 6; ++sink)
        for (int source = 0; source < 6; ++source)
          add_nucleon_term_to_row(row, column, U, D, shape_, nucleon_term(shape_.spins[n], sink, source));
    int x[Nd];
    coordinates_.global(site, x);
    double b[24];
    nucleon_sink_column(b, row, rounded_product(shape_.wrapped, shape_.phases(0, x)));
    out_.store(site, column, b);
  }

 private:
  /// It reads the propagator where it lies.
  struct QuarkAtSite {
    const Array& columns;
    int site;
    TRELLIS_SITE_FN Complex<double> at(int row, int column) const {
      const auto z = columns.template number<Access::constant>(site, column, row, typename Array::Real(1));
      return {double(z.re), double(z.im)};
    }
  };

  Array up_, down_;
  SiteArray<Layout, double, 24> out_;
  NucleonSinkShape shape_;
  SiteCoordinates coordinates_;
};

struct SiteRange;
/// It is built for CudaLayout and works on the sites of a time slice.
template <class Layout, class Storage>
void launch_nucleon_sink(const NucleonSinkCall& call, const SiteRange& sites);

}  // namespace trellis
