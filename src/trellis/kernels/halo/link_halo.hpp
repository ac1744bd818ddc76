#pragma once
/// The halo of gauge fields on a GPU: links of listed sites into a message, and out of one. (On the host
/// field/gauge_field.cpp moves them, lane by lane.)
#include "trellis/view/structured.hpp"

namespace trellis {

struct LinkFaceCall {
  RawField links;
  int first_link = 0, count = 4;    ///< slots of `links` that are moved
  const int32_t* blocks = nullptr;  ///< sites in the order of the message
  double* message = nullptr;        ///< [site][slot][18]
};

template <class Layout, class Storage>
class LinkFace {
 public:
  using Array = SiteArray<Layout, Storage, 18>;
  explicit LinkFace(const LinkFaceCall& call) : call_{call}, links_{call.links} {}

  TRELLIS_SITE_FN void pack(int index, int slot) const {
    double reals[18];
    links_.load(call_.blocks[index], call_.first_link + slot, reals);
    double* m = message(index, slot);
    for (int k = 0; k < 18; ++k) m[k] = reals[k];
  }
  TRELLIS_SITE_FN void unpack(int index, int slot) const {
    double reals[18];
    const double* m = message(index, slot);
    for (int k = 0; k < 18; ++k) reals[k] = m[k];
    links_.store(call_.blocks[index], call_.first_link + slot, reals);
  }

 private:
  TRELLIS_SITE_FN double* message(int index, int slot) const {
    return call_.message + (size_t(index) * size_t(call_.count) + size_t(slot)) * 18;
  }
  LinkFaceCall call_;
  Array links_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_link_pack(const LinkFaceCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_link_unpack(const LinkFaceCall& call, const SiteRange& sites);

}  // namespace trellis
