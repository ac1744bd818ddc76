#pragma once
/// The links of one direction are multiplied along lines through the local lattice, on a device, link by link
/// in fixed order, as gauge/polyakov_loop.cpp has them on the host.
#include <array>

#include "trellis/base/exact_sum.hpp"
#include "trellis/view/gauge_view.hpp"

namespace trellis {

struct PolyakovLinesCall {
  RawField links;
  ExtendedTables tables;
  const int32_t* first_blocks = nullptr;  ///< it tells where each [line] begins
  double* products = nullptr;             ///< they are [18][line]
  int lines = 0, mu = 3, steps = 0;
  bool begins = true;  ///< lines begin with one, else with what is in `products`
};

template <class Layout>
class PolyakovLines {
 public:
  using Links = GaugeView<Layout, double>;
  using Matrix = ColorMatrix<typename Links::Real>;

  explicit PolyakovLines(const PolyakovLinesCall& call) : links_{call.links, call.tables}, call_{call} {}

  TRELLIS_SITE_FN void operator()(int line) const {
    Matrix product = identity_matrix<typename Links::Real>();
    if (!call_.begins)
      for_each_real(product, [&](auto& real, int i) TRELLIS_INLINE_LAMBDA { real = *at(i, line); });
    Position p = links_.at(call_.first_blocks[line]);
    for (int step = 0; step < call_.steps; ++step) {
      product = product * links_.link(p, call_.mu);
      if (step + 1 < call_.steps) p = links_.step(p, call_.mu, 1);
    }
    for_each_real(product, [&](auto& real, int i) TRELLIS_INLINE_LAMBDA { *at(i, line) = real; });
  }

 private:
  template <class F>
  TRELLIS_SITE_FN static void for_each_real(Matrix& m, const F& f) {
    unroll<Nc * Nc>([&](auto n) TRELLIS_INLINE_LAMBDA {
      f(m.e[n / Nc][n % Nc].re, 2 * n);
      f(m.e[n / Nc][n % Nc].im, 2 * n + 1);
    });
  }
  TRELLIS_SITE_FN double* at(int real, int line) const {
    return call_.products + size_t(real) * size_t(call_.lines) + size_t(line);
  }

  Links links_;
  PolyakovLinesCall call_;
};

/// It takes real and imaginary part of a third of the trace of a line.
struct PolyakovTrace {
  const double* products;
  int lines;

  TRELLIS_SITE_FN std::array<double, 2> operator()(int line) const {
    const double* p = products + line;
    const size_t row = size_t(lines);
    return {(p[0] + p[8 * row] + p[16 * row]) / 3, (p[row] + p[9 * row] + p[17 * row]) / 3};
  }
};

/// It is built for CudaLayout.
template <class Layout>
void launch_polyakov_lines(const PolyakovLinesCall& call);
/// Adds the traces of all lines to sums[re, im].
template <class Layout>
void launch_polyakov_traces(const PolyakovLinesCall& call, ExactSum* sums);

}  // namespace trellis
