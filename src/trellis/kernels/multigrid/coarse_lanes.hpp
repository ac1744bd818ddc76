#pragma once
/// Numbers of coarse sites go between memory with the lanes of the fine fields beside each other and coarse
/// fields.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct CoarseLanesCall {
  const int32_t* lane_of = nullptr;  ///< it has [coarse site of the parity]: group * lanes + lane
  void* lanes = nullptr;             ///< [group][slot][real][lane]
  RawField coarse;                   ///< it has one parity
  int reals = 0, slots = 1;
};

/// With is_gathering it copies lanes into the coarse field, else the coarse field into lanes.
template <class Layout, class Storage, bool is_gathering>
class CoarseLanes {
 public:
  using Coarse = SiteElements<CoarseLayout<Layout>, Storage>;
  static constexpr int W = Layout::lanes;

  explicit CoarseLanes(const CoarseLanesCall& call)
      : lane_of_{call.lane_of},
        lanes_{static_cast<Storage*>(call.lanes)},
        coarse_{call.coarse, call.reals},
        slots_{call.slots} {}

  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int place = lane_of_[site], group = place / W, lane = place % W;
    Storage* numbers =
        lanes_ + (size_t(group) * size_t(slots_) + size_t(slot)) * size_t(coarse_.reals()) * W + lane;
    for (int i = 0; i < coarse_.reals(); ++i) {
      Storage& coarse = *coarse_.element(site, 0, slot, i);
      if constexpr (is_gathering)
        coarse = numbers[size_t(i) * W];
      else
        numbers[size_t(i) * W] = coarse;
    }
  }

 private:
  const int32_t* lane_of_;
  Storage* lanes_;
  Coarse coarse_;
  int slots_;
};

/// Copies between lanes and the coarse field. @pre sites of the coarse field: its own, one parity
template <class Layout, class Storage>
void launch_coarse_lanes(const CoarseLanesCall& call, bool is_gathering, const SiteRange& sites);

}  // namespace trellis
