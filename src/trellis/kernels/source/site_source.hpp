#pragma once
/// These sources are a number at each site, the same for all columns: column (spin, colour), or colour, is
/// that number in its own component and zero in the others. This file also has phases of momenta that
/// multiply a field.
#include "trellis/kernels/contract/momentum_phases.hpp"
#include "trellis/kernels/source/site_noise.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

/// It has the sites where a source is not zero, and its value there.
struct SourceShape {
  static constexpr int every_time = -1;
  MomentumPhaseTable phases;  ///< they belong to one momentum; the value is exp(+i p.(x - origin))
  int time = every_time;      ///< it is that of the slice
  bool has_corners = false;   ///< it has only sites with even x, y and z
  bool is_point = false;      ///< it has only the site `at`, with the value 1
  int at[Nd] = {0, 0, 0, 0};
  bool is_noise = false;  ///< the values are draw number `draw` of `noise`
  SiteNoise noise;
  uint32_t draw = 0;

  TRELLIS_SITE_FN bool contains(const int* x) const {
    if (is_point) return x[0] == at[0] && x[1] == at[1] && x[2] == at[2] && x[3] == at[3];
    return (time == every_time || x[3] == time) && (!has_corners || ((x[0] | x[1] | x[2]) & 1) == 0);
  }
  TRELLIS_SITE_FN Complex<double> value(const int* x) const {
    if (is_point) return {1.0, 0.0};
    if (is_noise) return noise(x, draw);
    return conj(phases(0, x));
  }
};

/// Computes z = value times entry, in this order on all backends.
TRELLIS_SITE_FN void multiply_entry(const Complex<double>& value, double& re, double& im) {
  const Complex<double> z = value * Complex<double>{re, im};
  re = z.re;
  im = z.im;
}

/// It sets a field of N reals that is zero, on devices.
template <class Layout, int N>
struct SetSource {
  SiteArray<Layout, double, N> out;
  SiteCoordinates coordinates;
  SourceShape shape;

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    int x[Nd];
    coordinates.global(site, x);
    if (!shape.contains(x)) return;
    const Complex<double> z = shape.value(x);
    double r[N];
    unroll<N / 2>([&](auto i) TRELLIS_INLINE_LAMBDA {
      r[2 * i] = i == slot ? z.re : 0.0;
      r[2 * i + 1] = i == slot ? z.im : 0.0;
    });
    out.store(site, slot, r);
  }
};

/// It writes independent numbers in all components of a field of N reals, on devices: slot s has the draws
/// N/2 (draw + s) and on.
template <class Layout, int N>
struct SetNoise {
  SiteArray<Layout, double, N> out;
  SiteCoordinates coordinates;
  SourceShape shape;

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    int x[Nd];
    coordinates.global(site, x);
    double r[N];
    unroll<N / 2>([&](auto c) TRELLIS_INLINE_LAMBDA {
      const Complex<double> z = shape.noise(x, uint32_t(N / 2) * (shape.draw + uint32_t(slot)) + uint32_t(c));
      r[2 * c] = z.re;
      r[2 * c + 1] = z.im;
    });
    out.store(site, slot, r);
  }
};

/// It multiplies a field of N reals with the shape's values, on devices.
template <class Layout, int N>
struct TimesPhases {
  SiteArray<Layout, double, N> field;
  SiteCoordinates coordinates;
  SourceShape shape;

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    int x[Nd];
    coordinates.global(site, x);
    const Complex<double> z = shape.value(x);
    double r[N];
    field.load(site, slot, r);
    unroll<N / 2>([&](auto i) TRELLIS_INLINE_LAMBDA { multiply_entry(z, r[2 * i], r[2 * i + 1]); });
    field.store(site, slot, r);
  }
};

struct SiteSourceCall {
  RawField field;  ///< it has 24 or 6 reals, of one parity
  int reals = 24, sites = 0;
  SiteCoordinates coordinates;  ///< they belong to that parity
  SourceShape shape;            ///< its phases lie in the memory of the field
};

/// They are built for CudaLayout. @pre launch_set_source: the field is zero
template <class Layout>
void launch_set_source(const SiteSourceCall& call);
/// Sets all components to independent numbers of the shape's noise, from `draw` on.
template <class Layout>
void launch_set_noise(const SiteSourceCall& call);
template <class Layout>
void launch_times_phases(const SiteSourceCall& call);

}  // namespace trellis
