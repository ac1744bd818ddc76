#pragma once
/// The kernels copy listed sites of fields with any number of reals: into messages, out of messages into
/// ghosts, and from sites to ghosts of the same rank. Stored numbers move as they are, with their scales in
/// 16-bit fixed point.
#include <span>

#include "trellis/view/site_elements.hpp"

namespace trellis {

struct SiteHaloCall {
  RawField sites[2];              ///< places name these arrays of a field (lattice/halo_plan.hpp)
  RawField ghosts;                ///< ghost places name this array
  int first_slot = 0, slots = 1;  ///< these slots of `sites` are moved
  int first_ghost_slot = 0;
  int reals = 1;
  bool is_in_blocks = false;  ///< the sites of messages are those of whole blocks, lane by lane
};

/// It lists the sites of a message, or, where there is none, those that go to ghosts of the same rank.
struct SiteHaloList {
  const int32_t* from = nullptr;  ///< there is a place for each site that moves
  const int32_t* to = nullptr;    ///< they are places of ghosts
  void* message = nullptr;        ///< it has all scales, then all reals
  int count = 0;                  ///< there are so many sites
};

/// Returns the bytes of a message of `count` sites.
constexpr size_t site_halo_bytes(int64_t count, int slots, int reals, size_t element_bytes,
                                 size_t scale_bytes) {
  return size_t(count) * size_t(slots) * (size_t(reals) * element_bytes + scale_bytes);
}

template <class Layout, class Storage>
class SiteHaloCopy {
 public:
  using Elements = SiteElements<Layout, Storage>;
  using Element = typename Elements::Element;
  static constexpr int W = Layout::lanes;

  explicit SiteHaloCopy(const SiteHaloCall& call)
      : call_{call},
        sites_{Elements(call.sites[0], call.reals), Elements(call.sites[1], call.reals)},
        ghosts_{call.ghosts, call.reals} {}

  TRELLIS_SITE_FN void pack(const SiteHaloList& list, int index, int slot) const {
    const Place from(list.from[index]);
    const Elements& field = sites_[from.array];
    Element* const elements = elements_of(list);
    for (int k = 0; k < call_.reals; ++k)
      elements[offset(list, index, slot, k)] =
          *field.element(from.block, from.lane, call_.first_slot + slot, k);
    if constexpr (Elements::is_half)
      scales_of(list)[record(list, index, slot)] =
          *field.scale(from.block, from.lane, call_.first_slot + slot);
  }
  /// Do the same with the lanes of block `group` of a message at once. Between CPUs a block's numbers lie in
  /// a message as they lie in fields. @pre the message has whole blocks
  TRELLIS_SITE_FN void pack_block(const SiteHaloList& list, int group, int slot) const {
    const Place from(list.from[group * W]);
    const Elements& field = sites_[from.array];
    move_block(elements_of(list) + block_offset(list, group, slot),
               field.element(from.block, 0, call_.first_slot + slot, 0));
    if constexpr (Elements::is_half)
      move_scales(scales_of(list) + record(list, group, slot) * W,
                  field.scale(from.block, 0, call_.first_slot + slot));
  }
  TRELLIS_SITE_FN void unpack_block(const SiteHaloList& list, int group, int slot) const {
    const Place to(list.to[group * W]);
    const int ghost_slot = call_.first_ghost_slot + slot;
    move_block(ghosts_.element(to.block, 0, ghost_slot, 0),
               elements_of(list) + block_offset(list, group, slot));
    if constexpr (Elements::is_half)
      move_scales(ghosts_.scale(to.block, 0, ghost_slot), scales_of(list) + record(list, group, slot) * W);
  }
  TRELLIS_SITE_FN void unpack(const SiteHaloList& list, int index, int slot) const {
    const Place to(list.to[index]);
    const Element* const elements = elements_of(list);
    for (int k = 0; k < call_.reals; ++k)
      *ghosts_.element(to.block, to.lane, call_.first_ghost_slot + slot, k) =
          elements[offset(list, index, slot, k)];
    if constexpr (Elements::is_half)
      *ghosts_.scale(to.block, to.lane, call_.first_ghost_slot + slot) =
          scales_of(list)[record(list, index, slot)];
  }
  /// Copies to a ghost whose site lies on this rank.
  TRELLIS_SITE_FN void copy(const SiteHaloList& list, int index, int slot) const {
    const Place from(list.from[index]), to(list.to[index]);
    const Elements& field = sites_[from.array];
    const int site_slot = call_.first_slot + slot, ghost_slot = call_.first_ghost_slot + slot;
    for (int k = 0; k < call_.reals; ++k)
      *ghosts_.element(to.block, to.lane, ghost_slot, k) =
          *field.element(from.block, from.lane, site_slot, k);
    if constexpr (Elements::is_half)
      *ghosts_.scale(to.block, to.lane, ghost_slot) = *field.scale(from.block, from.lane, site_slot);
  }

 private:
  struct Place {
    int array, block, lane;
    TRELLIS_SITE_FN explicit Place(int32_t place)
        : array{place & 1}, block{(place >> 1) / W}, lane{(place >> 1) % W} {}
  };
  TRELLIS_SITE_FN float* scales_of(const SiteHaloList& list) const {
    return static_cast<float*>(list.message);
  }
  TRELLIS_SITE_FN Element* elements_of(const SiteHaloList& list) const {
    return reinterpret_cast<Element*>(
        static_cast<char*>(list.message) +
        (Elements::is_half ? sizeof(float) * size_t(list.count) * size_t(call_.slots) : 0));
  }
  /// Messages between CPUs hold site by site, those between GPUs real by real, as threads are sites there.
  TRELLIS_SITE_FN size_t record(const SiteHaloList& list, int index, int slot) const {
    return Elements::is_gpu ? size_t(slot) * list.count + index : size_t(index) * call_.slots + slot;
  }
  TRELLIS_SITE_FN size_t offset(const SiteHaloList& list, int index, int slot, int k) const {
    return Elements::is_gpu ? (size_t(slot) * call_.reals + k) * list.count + index
                            : record(list, index, slot) * call_.reals + k;
  }

  TRELLIS_SITE_FN size_t block_offset(const SiteHaloList& list, int group, int slot) const {
    return record(list, group, slot) * size_t(call_.reals) * W;
  }
  TRELLIS_SITE_FN void move_block(Element* to, const Element* from) const {
    for (int i = 0; i < call_.reals * W; ++i) to[i] = from[i];
  }
  TRELLIS_SITE_FN static void move_scales(float* to, const float* from) {
    for (int i = 0; i < W; ++i) to[i] = from[i];
  }

  SiteHaloCall call_;
  Elements sites_[2], ghosts_;
};

/// Fills the messages of all lists from their sites, and the ghosts of lists without a message. GPUs do so in
/// one launch.
template <class Layout, class Storage>
void launch_site_halo_pack(const SiteHaloCall& call, std::span<const SiteHaloList> lists);
/// Fills the ghosts of all lists from their messages, likewise.
template <class Layout, class Storage>
void launch_site_halo_unpack(const SiteHaloCall& call, std::span<const SiteHaloList> lists);

}  // namespace trellis
