#pragma once
/// Hops of colour vectors over any distance have ghosts (lattice/hop_stencil.hpp): they are for forward legs
/// psi(y), for backward legs V_mu(y)^dagger psi(y), formed by the sender in the form in which the hop takes
/// them. Lanes that stay on this rank go to the ghost blocks at once, the others into the message. On GPUs
/// none stays, and the message is the ghosts as they lie in memory.
#include "trellis/kernels/dirac/staggered_leg.hpp"

namespace trellis {

/// It is a face of one exchange.
struct VectorFaceCall {
  int hop = 0;     ///< it is the number of its links
  int leg = 0;     ///< it is that of the receiver
  RawField ghost;  ///< it belongs to this leg
  /// It is [position][slot][6], scalars of the arithmetic, or as ghosts lie.
  void* message = nullptr;
  const int32_t* sources = nullptr;     ///< they are blocks of `in`
  const int32_t* first = nullptr;       ///< it has [sources + 1]
  const int32_t* deliveries = nullptr;  ///< they are [lane, to]; to as in HopStencil::Delivery
  const int32_t* arrivals = nullptr;    ///< they have [position]: ghost * lanes + lane
  int source_count = 0;
  int slots = 1;
};

/// All faces of an exchange are packed in one launch. Hops over one and three sites have links of their own.
struct VectorFacesCall {
  static constexpr int most_hops = 2, most = 8 * most_hops;
  VectorFaceCall faces[most];
  int count = 0;
  RawField
      links[most_hops];  ///< they belong to the parity of `in`; where there is one hop both are its links
  int link_reals[most_hops] = {18, 18};
  RawField in;
  int slots = 1;
};

/// It puts colour vectors into the message or the ghosts of a face, and moves them from one to the other.
template <class Layout, class Storage>
class VectorPlaces {
 public:
  using Scalar = typename StorageTraits<Storage>::compute;
  using GhostView = ColorVectorView<Layout, Scalar>;
  using Real = typename GhostView::Real;
  static constexpr int W = Layout::lanes;

  VectorPlaces() = default;
  explicit VectorPlaces(const VectorFaceCall& call)
      : sources_{call.sources},
        first_{call.first},
        deliveries_{call.deliveries},
        arrivals_{call.arrivals},
        message_{static_cast<Scalar*>(call.message)},
        ghost_scalars_{static_cast<Scalar*>(call.ghost.data)},
        ghost_{call.ghost},
        whole_{RawField{call.message, nullptr, call.slots}},
        hop_{call.hop},
        leg_{call.leg},
        source_count_{call.source_count},
        slots_{call.slots} {}

  TRELLIS_SITE_FN int hop() const { return hop_; }
  TRELLIS_SITE_FN int leg() const { return leg_; }
  int source_count() const { return source_count_; }
  /// Returns the block that source block `index` is.
  TRELLIS_SITE_FN int source(int index) const { return sources_[index]; }
  /// Makes the deliveries of source block `index`.
  TRELLIS_SITE_FN void deliver(const ColorVector<Real>& h, int index, int slot) const {
    for (int k = first_[index]; k < first_[index + 1]; ++k) {
      const int lane = deliveries_[2 * k], to = deliveries_[2 * k + 1];
      if constexpr (std::is_base_of_v<GpuLayout, Layout>)
        whole_.store(to, slot, h);  // positions are ghosts
      else if (to >= 0)
        take_lane(message(to, slot), h, lane);
      else
        put_in_ghost(h, lane, ~to, slot);
    }
  }
  /// Moves the received position `index` into its ghost.
  TRELLIS_SITE_FN void unpack(int index, int slot) const {
    put_in_ghost(message(index, slot), arrivals_[index], slot);
  }

 private:
  TRELLIS_SITE_FN Scalar* message(int position, int slot) const {
    return message_ + (size_t(position) * slots_ + slot) * 6;
  }
  TRELLIS_SITE_FN static void take_lane(Scalar* to, const ColorVector<Real>& h, int from) {
    const Real* r = reinterpret_cast<const Real*>(&h);
    for (int i = 0; i < 6; ++i) to[i] = lane(r[i], from);
  }
  TRELLIS_SITE_FN void put_in_ghost(const ColorVector<Real>& h, int from, int place, int slot) const {
    Scalar reals[6];
    take_lane(reals, h, from);
    put_in_ghost(reals, place, slot);
  }
  /// Copies and nothing else: what moves may be integers.
  TRELLIS_SITE_FN void put_in_ghost(const Scalar* reals, int place, int slot) const {
    if constexpr (W == 1) {
      ColorVector<Real> h;
      Real* r = reinterpret_cast<Real*>(&h);
      for (int i = 0; i < 6; ++i) r[i] = reals[i];
      ghost_.store(place, slot, h);
    } else {
      Scalar* g = ghost_scalars_ + (size_t(place / W) * slots_ + slot) * 6 * W + place % W;
      for (int i = 0; i < 6; ++i) g[i * W] = reals[i];
    }
  }

  const int32_t* sources_ = nullptr;
  const int32_t* first_ = nullptr;
  const int32_t* deliveries_ = nullptr;
  const int32_t* arrivals_ = nullptr;
  Scalar* message_ = nullptr;
  Scalar* ghost_scalars_ = nullptr;
  GhostView ghost_, whole_;  ///< whole_ is the message where it is the ghosts
  int hop_ = 0, leg_ = 0, source_count_ = 0, slots_ = 1;
};

template <class Layout, class Storage, int NearReals, int FarReals>
class VectorFaces {
 public:
  using Vectors = ColorVectorView<Layout, Storage>;
  using Real = typename Vectors::Real;
  static constexpr int most = VectorFacesCall::most;

  explicit VectorFaces(const VectorFacesCall& call)
      : near_{call.links[0]}, far_{call.links[1]}, in_{call.in}, count_{call.count} {
    for (int i = 0; i < count_; ++i) faces_[i] = VectorPlaces<Layout, Storage>(call.faces[i]);
  }

  int count() const { return count_; }
  int sites(int face) const { return faces_[face].source_count(); }

  /// Makes the deliveries of source block `index` of a face for one right-hand side.
  TRELLIS_SITE_FN void pack(int number, int index, int slot) const {
    const VectorPlaces<Layout, Storage>& face = faces_[number];
    const int block = face.source(index);
    const auto ready = link_ready(in_, block, slot);
    const decltype(ready) v[1] = {ready};
    ColorVector<Real> h[1];
    if (face.leg() % 2 == 0)
      h[0] = to_ghost(ready);
    else if (face.hop() == 0)
      rows_dagger_multiply(h, near_.rows(block, face.leg() / 2), v);
    else
      rows_dagger_multiply(h, far_.rows(block, face.leg() / 2), v);
    face.deliver(h[0], index, slot);
  }

 private:
  HopLinkView<Layout, Storage, NearReals> near_;
  HopLinkView<Layout, Storage, FarReals> far_;
  Vectors in_;
  VectorPlaces<Layout, Storage> faces_[most];
  int count_;
};

struct SiteRange;
/// Fills all messages and the local lanes of the ghost blocks.
template <class Layout, class Storage>
void launch_vector_pack(const VectorFacesCall& call);
/// Completes the ghost blocks from the received `call.message`; the range counts its positions.
template <class Layout, class Storage>
void launch_vector_unpack(const VectorFaceCall& call, const SiteRange& positions);

}  // namespace trellis
