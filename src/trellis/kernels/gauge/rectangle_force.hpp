#pragma once
/// The force of the action with 1x1 and 2x1 loops is computed plane by plane: a rectangle is a plaquette with
/// one of its links replaced by the staple on its far side. For the plaquette at y in the plane (mu, nu) with
/// the links
///
///   L1 = U_mu(y), L2 = U_nu(y+mu), L3 = U_mu(y+nu), L4 = U_nu(y),   P = L1 L2 L3^dagger L4^dagger,
///
/// let Li' be the staple of Li outside the plaquette, and
///
///   f = L1 L2,  f' = L1' L2 + L1 L2',   b = L4 L3,  b' = L4' L3 + L4 L3'.
///
/// The loops of the plaquette and its rectangles that begin with Li are Li Xi (or their adjoints: the action
/// takes the real part), with
///
///   X1 = (c0 L2 + c1 L2') b^dagger + c1 L2 b'^dagger,    X2 = b^dagger (c0 L1 + c1 L1') + c1 b'^dagger L1,
///   X3 = f^dagger (c0 L4 + c1 L4') + c1 f'^dagger L4,    X4 = (c0 L3 + c1 L3') f^dagger + c1 L3 f'^dagger.
///
/// These are 20 products a plaquette, 120 a site, where walks along all loops take 336. All that a plane
/// needs lies in two-dimensional slices of the lattice (lattice/plane_slices.hpp), whose staples, f, b and X
/// stay in a cache. On a GPU they do not (rectangle_links.hpp).
#include "trellis/algebra/su3.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// A site has in each of 6 planes 20 products, 12 sums and multiples of matrices, 2 projections and updates.
/// Bytes are the links of a plane, and the force of its links in and out.
inline constexpr KernelCost slice_force_cost{6 * (20 * 198 + 12 * 18 + 2 * 30), 6 * (36 + 32) * 8};

/// It does one plane (mu < nu) with the tables of PlaneSlices.
struct SliceForceCall {
  GaugeCall gauge;
  RawField force;  ///< it has 8 components per link, by block; slot = mu
  int mu = 0, nu = 1;
  int blocks_per_slice = 0;
  const int32_t *blocks = nullptr, *places = nullptr;
  const int32_t *plaquettes = nullptr, *inner = nullptr;  ///< they are places
  int plaquette_count = 0, inner_count = 0;
  void* scratch = nullptr;   ///< each thread has slice_matrices matrices for every place
  size_t scratch_reals = 0;  ///< the next thread's memory begins so much further on
  double c0 = 1, c1 = 0;
  double coefficient = 0;  ///< it is beta / 6 (times a step, a sign)
};
/// They are the four staples, the four X, f and b.
inline constexpr int slice_matrices = 10;

template <class Layout, class Storage>
class SliceForce {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Array = SiteArray<Layout, Storage, 18>;
  using Real = typename Gauge::Real;
  using Matrix = ColorMatrix<Real>;
  SliceForce(const SliceForceCall& call, Storage* scratch)
      : call_{call},
        U_{call.gauge.links, call.gauge.tables},
        links_{call.gauge.links},
        scratch_{RawField{scratch, nullptr, slice_matrices}},
        force_{call.force} {}

  TRELLIS_SITE_FN void operator()(int slice) const {
    for (int i = 0; i < call_.blocks_per_slice; ++i) staples_of(slice, i);
    for (int i = 0; i < call_.plaquette_count; ++i) loops_of(slice, i);
    for (int i = 0; i < call_.inner_count; ++i) update_of(slice, i);
  }

 private:
  // These do the three parts of a slice, of which each needs all of the one before, on element i of what a
  // part works on.
  TRELLIS_SITE_FN void staples_of(int slice, int i) const { staples(blocks_of(slice)[i], i); }
  TRELLIS_SITE_FN void loops_of(int slice, int i) const {
    const int32_t place = call_.plaquettes[i];
    loops(blocks_of(slice)[place], place);
  }
  TRELLIS_SITE_FN void update_of(int slice, int i) const { update(blocks_of(slice)[call_.inner[i]]); }

  TRELLIS_SITE_FN const int32_t* blocks_of(int slice) const {
    return call_.blocks + size_t(slice) * size_t(call_.blocks_per_slice);
  }
  enum { upper_mu, upper_nu, lower_mu, lower_nu, X1, X2, X3, X4, front, back };

  TRELLIS_SITE_FN Matrix load(const Array& array, int block, int slot, int shift) const {
    Matrix m = load_object<Matrix, Array, Real, 18>(array, block, slot);
    if constexpr (Layout::lanes > 1) {
      if (shift != 0) {
        const int32_t* source = call_.gauge.tables.permutations + 16 * shift;
        unroll<Nc * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
          Complex<Real>& z = m.e[k / Nc][k % Nc];
          z = {permute(z.re, source), permute(z.im, source)};
        });
      }
    }
    return m;
  }
  TRELLIS_SITE_FN Matrix link(Position x, int mu) const { return load(links_, x.block, mu, x.shift); }
  TRELLIS_SITE_FN Matrix stored(Position x, int kind) const {
    return load(scratch_, call_.places[x.block], kind, x.shift);
  }
  TRELLIS_SITE_FN void store(int place, int kind, const Matrix& m) const {
    store_object<Matrix, Array, Real, 18>(scratch_, place, kind, m);
  }

  /// Forms the staple of each link of the plaquette at y. L1's and L4's lie beyond the plaquettes of y-nu and
  /// y-mu for which they are the staples outside, and so on.
  TRELLIS_SITE_FN void staples(int block, int place) const {
    const Position y = U_.at(block);
    const Matrix L1 = link(y, call_.mu), L2 = link(U_.step(y, call_.mu, 1), call_.nu),
                 L3 = link(U_.step(y, call_.nu, 1), call_.mu), L4 = link(y, call_.nu);
    const Matrix f = L1 * L2;
    store(place, upper_nu, mul_dagger(f, L3));
    store(place, lower_mu, dagger_mul(L4, f));
    const Matrix b = L4 * L3;
    store(place, upper_mu, mul_dagger(b, L2));
    store(place, lower_nu, dagger_mul(L1, b));
    store(place, front, f);
    store(place, back, b);
  }

  TRELLIS_SITE_FN void loops(int block, int place) const {
    const int mu = call_.mu, nu = call_.nu;
    const Real c0(call_.c0), c1(call_.c1);
    const Position y = U_.at(block), ahead = U_.step(y, mu, 1), above = U_.step(y, nu, 1);
    const Matrix L1 = link(y, mu), L2 = link(ahead, nu), L3 = link(above, mu), L4 = link(y, nu);
    const Matrix L1_out = c1 * stored(U_.step(y, nu, -1), lower_mu), L2_out = c1 * stored(ahead, upper_nu);
    const Matrix f = stored({block, 0}, front), f_out = L1_out * L2 + L1 * L2_out;
    const Matrix L3_out = c1 * stored(above, upper_mu), L4_out = c1 * stored(U_.step(y, mu, -1), lower_nu);
    store(place, X3, dagger_mul(f, c0 * L4 + L4_out) + dagger_mul(f_out, L4));
    store(place, X4, mul_dagger(c0 * L3 + L3_out, f) + mul_dagger(L3, f_out));
    const Matrix b = stored({block, 0}, back), b_out = L4_out * L3 + L4 * L3_out;
    store(place, X1, mul_dagger(c0 * L2 + L2_out, b) + mul_dagger(L2, b_out));
    store(place, X2, dagger_mul(b, c0 * L1 + L1_out) + dagger_mul(b_out, L1));
  }

  /// Adds to the force of two links of a site: each is L1 or L4 of the plaquette here, and L3 or L2 of one
  /// behind.
  TRELLIS_SITE_FN void update(int block) const {
    const Position x = U_.at(block);
    add(block, call_.mu, stored({block, 0}, X1) + stored(U_.step(x, call_.nu, -1), X3));
    add(block, call_.nu, stored({block, 0}, X4) + stored(U_.step(x, call_.mu, -1), X2));
  }
  TRELLIS_SITE_FN void add(int block, int mu, const Matrix& X) const {
    Real p[8], f[8];
    algebra_components(load(links_, block, mu, 0) * X, p);
    force_.load(block, mu, f);
    unroll<8>([&](auto a) TRELLIS_INLINE_LAMBDA { f[a] = fma(Real(call_.coefficient), p[a], f[a]); });
    force_.store(block, mu, f);
  }

  SliceForceCall call_;
  Gauge U_;
  Array links_, scratch_;
  SiteArray<Layout, Storage, 8> force_;
};

/// Adds to force_a coefficient (components of TA(U A^dagger)) for the loops of one plane.
template <class Layout, class Storage>
void launch_slice_force(const SliceForceCall& call, int slices);

}  // namespace trellis
