#pragma once
/// Fields of any number of reals are converted between storages of one layout, all right-hand sides in one
/// pass. What is read is rounded to the new storage as SiteStorage::set() does it: in fixed point the largest
/// number of a site becomes its scale. The traffic is 2 fields.
#include "trellis/base/precision.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

/// The call is out = in, at sites in the same order.
struct ConvertCall {
  RawField out, in;
  Precision from = Precision::double_precision;
  int reals = 24, slots = 1;
};

template <class Layout, class To, class From, int N>
class ConvertAtSite {
 public:
  explicit ConvertAtSite(const ConvertCall& call) : out_{call.out}, in_{call.in} {}
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    typename In::Real u[N];
    typename Out::Real v[N];
    in_.load(site, slot, u);
    unroll<N>([&](auto i) TRELLIS_INLINE_LAMBDA { v[i] = convert_real<typename Out::Scalar>(u[i]); });
    out_.store(site, slot, v);
  }

 private:
  using In = SiteArray<Layout, From, N>;
  using Out = SiteArray<Layout, To, N>;
  Out out_;
  In in_;
};

/// Does the same for any number of reals, pair by pair; fixed point needs a pass for the scale before.
template <class Layout, class To, class From>
class ConvertAnyAtSite {
 public:
  explicit ConvertAnyAtSite(const ConvertCall& call) : out_{call.out, call.reals}, in_{call.in, call.reals} {}
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const typename In::Real unit = in_.unit(site, slot);
    const auto value = [&](int i) TRELLIS_INLINE_LAMBDA {
      return convert_real<typename Out::Scalar>(in_.load(site, slot, i, unit));
    };
    Real largest(0);
    if constexpr (Out::is_half)
      for (int i = 0; i < in_.reals(); ++i) largest = larger_magnitude(largest, value(i));
    const Real inverse = out_.store_scale(site, slot, largest);
    for (int i = 0; i < in_.reals(); i += 2) {
      const Real r[2] = {value(i), i + 1 < in_.reals() ? value(i + 1) : Real(0)};
      out_.store(site, slot, i, r, inverse);
    }
  }

 private:
  using In = SiteElements<Layout, From>;
  using Out = SiteElements<Layout, To>;
  using Real = typename Out::Real;
  Out out_;
  In in_;
};

struct SiteRange;
/// Converts to the storage `To`. @pre the two fields do not overlap
template <class Layout, class To>
void launch_convert(const ConvertCall& call, const SiteRange& sites);

}  // namespace trellis
