#pragma once
/// Contraction kernels read and write these: colour matrices of propagators, and the contracted products of a
/// chunk of sites, in double whatever the propagator's storage.
#include "trellis/view/structured.hpp"

namespace trellis {

/// It is a propagator: a spinor field with twelve right-hand sides, slot = 3 source spin + source colour.
template <class Layout, class Storage>
class PropagatorView {
 public:
  using Array = SiteArray<Layout, Storage, 24>;
  using Real = LaneReal<double, Layout::lanes>;

  explicit PropagatorView(const RawField& raw) : array_{raw} {}

  /// Returns e[sink colour][source colour] of S(sink spin, source spin).
  TRELLIS_SITE_FN ColorMatrix<Real> block(int site, int sink, int source) const {
    ColorMatrix<Real> m;
    unroll<Nc>([&](auto b) TRELLIS_INLINE_LAMBDA {
      const int slot = 3 * source + b;
      const auto unit = array_.load_unit(site, slot);
      unroll<Nc>([&](auto a) TRELLIS_INLINE_LAMBDA {
        const auto z = array_.template number<Access::constant>(site, slot, 3 * sink + a, unit);
        m.e[a][b] = {convert_real<double>(z.re), convert_real<double>(z.im)};
      });
    });
    return m;
  }

 private:
  Array array_;
};

/// Some kernels have several threads for a site of a device: [site / 32][part][site % 32].
struct PartOfSite {
  int site, part;
};
template <int parts>
TRELLIS_SITE_FN PartOfSite part_of_site(int thread) {
  constexpr int sites = GpuLayout::warp;
  return {thread / (parts * sites) * sites + thread % sites, thread / sites % parts};
}
template <int parts>
int threads_of_parts(int sites) {
  constexpr int group = GpuLayout::warp;
  return (sites + group - 1) / group * group * parts;
}

/// It has complex products of a chunk of blocks: [component][re, im][group][site]. The lanes of a block may
/// lie on `groups` different time slices; those of one slice are neighbours (t is the slowest lane
/// direction), and each group is summed by itself. On a device they lie as [site][component][re, im].
struct ProductBuffer {
  double* data = nullptr;  ///< it is 64-byte aligned
  int groups = 1;
  int stride = 0;      ///< so many doubles lie between groups; it is a multiple of 8, at least the sites of a
                       ///< group, the rest zero
  int components = 0;  ///< a site of a device has so many

  TRELLIS_SITE_FN double* row(int real, int group) const {
    return data + (size_t(real) * groups + group) * stride;
  }

  /// Stores component `component` of block number `n` of the chunk.
  template <class Layout, class Real>
  TRELLIS_SITE_FN void store(int component, int n, const Complex<Real>& z) const {
    if constexpr (std::is_same_v<Layout, CudaLayout>) {
      ElementVector<double, 2> number;
      number.set<0>(z.re);
      number.set<1>(z.im);
      number.store(data + 2 * (size_t(n) * size_t(components) + size_t(component)));
    } else {
      store_lanes(2 * component, n, z.re);
      store_lanes(2 * component + 1, n, z.im);
    }
  }

 private:
  template <class Real>
  TRELLIS_SITE_FN void store_lanes(int real, int n, const Real& x) const {
    constexpr int W = RealTraits<Real>::width;
    if (groups == 1) {
      store_real(row(real, 0) + size_t(n) * W, x);
      return;
    }
    alignas(64) double lanes[W];
    store_real(lanes, x);
    const int per_group = W / groups;
    for (int i = 0; i < W; ++i) row(real, i / per_group)[size_t(n) * per_group + i % per_group] = lanes[i];
  }
};

}  // namespace trellis
