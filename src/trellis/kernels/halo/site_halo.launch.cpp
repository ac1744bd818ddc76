// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/halo/site_halo.hpp"

#include <algorithm>

#include "trellis/device/launch.hpp"
#include "trellis/kernels/halo/face_steps.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// It says what happens to the sites of a list: they are packed, or copied within this rank.
struct PackSites {
  template <class Copy>
  TRELLIS_SITE_FN static void at_site(const Copy& copy, const SiteHaloList& list, int index, int slot) {
    list.message != nullptr ? copy.pack(list, index, slot) : copy.copy(list, index, slot);
  }
  template <class Copy>
  TRELLIS_SITE_FN static void at_block(const Copy& copy, const SiteHaloList& list, int group, int slot) {
    copy.pack_block(list, group, slot);
  }
};
/// Or they are unpacked.
struct UnpackSites {
  template <class Copy>
  TRELLIS_SITE_FN static void at_site(const Copy& copy, const SiteHaloList& list, int index, int slot) {
    copy.unpack(list, index, slot);
  }
  template <class Copy>
  TRELLIS_SITE_FN static void at_block(const Copy& copy, const SiteHaloList& list, int group, int slot) {
    copy.unpack_block(list, group, slot);
  }
};

template <class Copy, class Step>
struct SitesOfList {
  Copy copy;
  SiteHaloList list;
  TRELLIS_SITE_FN void operator()(int index, int slot) const { Step::at_site(copy, list, index, slot); }
};
template <class Copy, class Step>
struct BlocksOfList {
  Copy copy;
  SiteHaloList list;
  TRELLIS_SITE_FN void operator()(int group, int slot) const { Step::at_block(copy, list, group, slot); }
};

/// Fixed point on a CPU keeps pairs, of which a message has no second ones that do not exist.
template <class Layout, class Storage>
bool moves_blocks(const SiteHaloCall& call, const SiteHaloList& list) {
  const bool has_gaps = std::is_same_v<Storage, Half> && call.reals % 2 != 0;
  return Layout::lanes > 1 && call.is_in_blocks && list.message != nullptr && !has_gaps;
}

/// Takes one list after the other, with the threads of the host.
template <class Layout, class Storage, class Step>
void each_list(const SiteHaloCall& call, std::span<const SiteHaloList> lists) {
  using Copy = SiteHaloCopy<Layout, Storage>;
  for (const SiteHaloList& list : lists) {
    if constexpr (Layout::lanes > 1)
      if (moves_blocks<Layout, Storage>(call, list)) {
        launch::for_each_site(SiteRange(list.count / Layout::lanes), call.slots,
                              BlocksOfList<Copy, Step>{Copy(call), list});
        continue;
      }
    launch::for_each_site(SiteRange(list.count), call.slots, SitesOfList<Copy, Step>{Copy(call), list});
  }
}

/// The lists of a launch are faces: this calls them packed, whatever the step does.
template <class Copy, class Step, int most_lists>
struct ListFaces {
  static constexpr int most = most_lists;
  Copy copy;
  SiteHaloList lists[most];
  int used = 0;
  int count() const { return used; }
  int sites(int face) const { return lists[face].count; }
  TRELLIS_SITE_FN void pack(int face, int index, int slot) const {
    Step::at_site(copy, lists[face], index, slot);
  }
};

/// Takes at most so many lists in a launch. Its arguments have room for all ranks around and the own one.
template <class Layout, class Storage, class Step, int most>
void lists_together(const SiteHaloCall& call, std::span<const SiteHaloList> lists) {
  using Copy = SiteHaloCopy<Layout, Storage>;
  for (size_t first = 0; first < lists.size(); first += size_t(most)) {
    ListFaces<Copy, Step, most> faces{Copy(call), {}, 0};
    for (const SiteHaloList& list : lists.subspan(first, std::min(lists.size() - first, size_t(most))))
      faces.lists[faces.used++] = list;
    const PackFaces<Layout, ListFaces<Copy, Step, most>> all{faces};
    launch::for_each_site(SiteRange(all.sites()), call.slots, all);
  }
}

template <class Layout, class Storage, class Step>
void run(const SiteHaloCall& call, std::span<const SiteHaloList> lists) {
  if constexpr (!std::is_base_of_v<GpuLayout, Layout>)
    each_list<Layout, Storage, Step>(call, lists);
  else if (lists.size() <= 9)  // without corners, and with sites of the own rank
    lists_together<Layout, Storage, Step, 9>(call, lists);
  else
    lists_together<Layout, Storage, Step, 81>(call, lists);
}
}  // namespace

template <class Layout, class Storage>
void launch_site_halo_pack(const SiteHaloCall& call, std::span<const SiteHaloList> lists) {
  run<Layout, Storage, PackSites>(call, lists);
}
template <class Layout, class Storage>
void launch_site_halo_unpack(const SiteHaloCall& call, std::span<const SiteHaloList> lists) {
  run<Layout, Storage, UnpackSites>(call, lists);
}

template void launch_site_halo_pack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                             std::span<const SiteHaloList>);
template void launch_site_halo_unpack<InstantiatedLayout, InstantiatedStorage>(const SiteHaloCall&,
                                                                               std::span<const SiteHaloList>);

}  // namespace trellis
