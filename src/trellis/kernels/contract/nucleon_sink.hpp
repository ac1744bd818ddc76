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

TRELLIS_SITE_FN void add_nucleon_term(SpinColourMatrix& K, const SpinColourMatrix& U,
                                      const SpinColourMatrix& D, const NucleonSinkShape& shape,
                                      const NucleonSpins& t, int sink, int source) {
  // The six permutations of three colours come with the even ones first: 012, 120, 201, 021, 210, 102.
  const int a = sink < 3 ? sink : (6 - sink) % 3, b = (a + (sink < 3 ? 1 : 2)) % 3, c = 3 - a - b;
  const int a2 = source < 3 ? source : (6 - source) % 3, b2 = (a2 + (source < 3 ? 1 : 2)) % 3,
            c2 = 3 - a2 - b2;
  const int alpha = 3 * t.alpha + a, beta = 3 * t.beta + b, gamma = 3 * t.gamma + c;
  const int alpha2 = 3 * t.alpha_source + a2, beta2 = 3 * t.beta_source + b2, delta = 3 * t.delta + c2;
  const double sign = (sink < 3) == (source < 3) ? 1.0 : -1.0;
  const Complex<double> w{sign * t.re, sign * t.im};
  if (shape.down != 0.0) {
    const Complex<double> pair = rounded_product(U.at(alpha, alpha2), U.at(gamma, delta)) -
                                 rounded_product(U.at(alpha, delta), U.at(gamma, alpha2));
    K.at(beta2, beta) = K.at(beta2, beta) + rounded_product(shape.down * w, pair);
  }
  if (shape.up == 0.0) return;
  const Complex<double> wd = rounded_product(shape.up * w, D.at(beta, beta2));
  K.at(alpha2, alpha) = K.at(alpha2, alpha) + fused_product(wd, U.at(gamma, delta));
  K.at(delta, gamma) = K.at(delta, gamma) + fused_product(wd, U.at(alpha, alpha2));
  K.at(delta, alpha) = K.at(delta, alpha) - fused_product(wd, U.at(gamma, alpha2));
  K.at(alpha2, gamma) = K.at(alpha2, gamma) - fused_product(wd, U.at(alpha, delta));
}

/// Sets column `column` of the source to gamma5 conj(phase K[column]): b[re, im of 12].
TRELLIS_SITE_FN void nucleon_sink(SpinColourMatrix& K, const SpinColourMatrix& U, const SpinColourMatrix& D,
                                  const NucleonSinkShape& shape) {
  for (int i = 0; i < SpinColourMatrix::size * SpinColourMatrix::size; ++i) K.e[i] = {0.0, 0.0};
  for (int n = 0; n < shape.count; ++n)
    for (int sink = 0; sink < 6; ++sink)
      for (int source = 0; source < 6; ++source)
        add_nucleon_term(K, U, D, shape, shape.spins[n], sink, source);
}
TRELLIS_SITE_FN void nucleon_sink_column(double (&b)[24], const SpinColourMatrix& K, int column,
                                         const Complex<double>& phase) {
  for (int i = 0; i < SpinColourMatrix::size; ++i) {
    const Complex<double> z = rounded_product(phase, K.at(column, i));
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

/// It computes a site of a device. Its matrices lie in the thread's own memory.
template <class Layout, class Storage>
class NucleonSinkAtSite {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  explicit NucleonSinkAtSite(const NucleonSinkCall& call)
      : up_{call.up},
        down_{call.down},
        out_{call.out},
        shape_{call.shape},
        coordinates_{call.coordinates},
        is_one_{call.up.data == call.down.data} {}

  TRELLIS_SITE_FN void operator()(int site) const {
    SpinColourMatrix U, D, K;
    load(up_, site, U);
    if (!is_one_) load(down_, site, D);
    nucleon_sink(K, U, is_one_ ? U : D, shape_);
    int x[Nd];
    coordinates_.global(site, x);
    const Complex<double> phase = rounded_product(shape_.wrapped, shape_.phases(0, x));
    for (int column = 0; column < SpinColourMatrix::size; ++column) {
      double b[24];
      nucleon_sink_column(b, K, column, phase);
      out_.store(site, column, b);
    }
  }

 private:
  TRELLIS_SITE_FN static void load(const Array& columns, int site, SpinColourMatrix& S) {
    for (int column = 0; column < SpinColourMatrix::size; ++column) {
      typename Array::Real psi[24];
      columns.load(site, column, psi);
      for (int i = 0; i < SpinColourMatrix::size; ++i)
        S.at(i, column) = {double(psi[2 * i]), double(psi[2 * i + 1])};
    }
  }

  Array up_, down_;
  SiteArray<Layout, double, 24> out_;
  NucleonSinkShape shape_;
  SiteCoordinates coordinates_;
  bool is_one_;
};

struct SiteRange;
/// It is built for CudaLayout and works on the sites of a time slice.
template <class Layout, class Storage>
void launch_nucleon_sink(const NucleonSinkCall& call, const SiteRange& sites);

}  // namespace trellis
