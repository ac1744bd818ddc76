#pragma once
/// The kernel copies links of a gauge field to the form in which hops keep them, in even-odd order, any
/// storage and number of reals (field/hop_links.hpp). It runs on a GPU alone: on CPUs the two fields may have
/// different numbers of lanes, and the host gathers them.
#include "trellis/view/link_reals.hpp"
#include "trellis/view/structured.hpp"

namespace trellis {

struct HopLinkCopyCall {
  RawField links;                    ///< they have 18 reals in double, in the order of gauge fields
  RawField out;                      ///< it has one parity; with scales it is fixed point alone
  const int32_t* origins = nullptr;  ///< it has [block of out]: its block in the order of gauge fields
  int link_reals = 18;
};

template <class Layout, class Storage, int N>
class HopLinkCopy {
 public:
  using Array = SiteArray<Layout, Storage, N>;
  using Element = typename Array::Element;
  using Scalar = typename Array::Scalar;
  static_assert(Array::is_gpu);
  explicit HopLinkCopy(const HopLinkCopyCall& call)
      : links_{call.links}, out_{call.out}, raw_{call.out}, origins_{call.origins} {}

  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    const ColorMatrix<double> U = links_.load(origins_[block], mu);
    double reals[N];
    write_link_reals(U, reals);
    if constexpr (Array::is_half) {
      store_fixed_point(block, mu, reals, U);
    } else {
      Scalar r[N];
      for (int i = 0; i < N; ++i) r[i] = Scalar(reals[i]);
      out_.store(block, mu, r);
    }
  }

 private:
  /// Stores a link in fixed point. Links have full scale 1, or the length of their longest row or column
  /// where the field has scales.
  TRELLIS_SITE_FN void store_fixed_point(int block, int mu, const double (&reals)[N],
                                         const ColorMatrix<double>& U) const {
    const size_t group = size_t(block / GpuLayout::warp) * raw_.slots + mu;
    const int lane = block % GpuLayout::warp;
    float scale = 1.0f;
    if (raw_.scale != nullptr) {
      scale = float(square_root(largest_length2(U)));
      raw_.scale[group * GpuLayout::warp + lane] = scale;
    }
    Element* out = static_cast<Element*>(raw_.data) + group * (N * GpuLayout::warp);
    for (int i = 0; i < N; ++i)
      out[gpu_component_offset(i, N, lane, gpu_vector_length<Element>)] =
          stored_link_component(float(reals[i]) / scale);
  }

  ObjectView<Layout, double, ColorMatrix, 18> links_;
  Array out_;
  RawField raw_;
  const int32_t* origins_;
};

struct SiteRange;
/// Copies all directions of a range of blocks of one parity.
template <class Layout, class Storage>
void launch_hop_link_copy(const HopLinkCopyCall& call, const SiteRange& blocks);

}  // namespace trellis
