#pragma once
/// Legs between the blocks of the Schwarz method say what the step of one block changes in the residual of
/// its neighbours, r += H step / 2.
#include "trellis/kernels/dirac/wilson_leg.hpp"
#include "trellis/kernels/multigrid/block_call.hpp"

namespace trellis {

template <class Layout, class Storage, int LinkReals>
class BlockEdge {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  BlockEdge(const BlockEdgeCall& call, const RawField (&links)[2], const RawField (&in)[2], int vectors)
      : neighbours_{call.neighbours}, at_boundary_{call.at_boundary}, vectors_{vectors} {
    for (int parity = 0; parity < 2; ++parity) {
      stencil_[parity] = {call.inner[parity].table, call.inner[parity].legs};
      links_[parity] = LinkView<Layout, Storage, LinkReals>(links[parity]);
      in_[parity] = Spinors(in[parity]);
      for (int leg = 0; leg < 8; ++leg) {
        number_in_edge_[parity][leg] = call.number_in_edge[parity][leg];
        edge_vectors_[parity][leg] = call.edge_vectors[parity][leg];
      }
      for (int mu = 0; mu < 4; ++mu) {
        ahead_[parity][mu] = typename Ghosts::Forward(call.ghosts[parity][2 * mu]);
        behind_[parity][mu] = typename Ghosts::Backward(call.ghosts[parity][2 * mu + 1]);
      }
    }
    for (int leg = 0; leg < 8; ++leg)
      phase_[leg] = {Scalar(call.boundary[leg][0]), Scalar(call.boundary[leg][1])};
  }

  /// Calls f(vector, leg) for the vectors of a parity in neighbours on this rank from which legs arrive.
  template <class F>
  void for_each_neighbour(int block, int parity, const F& f) const {
    for (int leg = 0; leg < 8; ++leg) {
      const int there = neighbours_[8 * size_t(block) + size_t(leg)];
      if (there < 0) continue;
      for (int vector = 0; vector < vectors_; ++vector)
        if (number_in_edge_[parity][leg ^ 1][vector] >= 0) f(there * vectors_ + vector, leg);
    }
  }

  /// Returns the sum of the legs that arrive at one vector of a block from other blocks.
  TRELLIS_SITE_FN Spinor<Real> sum(int parity, int block, int vector, int slot) const {
    Spinor<Real> sum;
    unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
      sum.s[k / Nc].c[k % Nc] = {Real(Scalar(0)), Real(Scalar(0))};
    });
    unroll<4>([&](auto mu) TRELLIS_INLINE_LAMBDA {
      if (stencil_[parity].neighbour(vector, 2 * mu).crosses)
        add_reconstructed<mu>(sum, forward<mu>(parity, block, vector, slot), Real(Scalar(-1)));
      if (stencil_[parity].neighbour(vector, 2 * mu + 1).crosses)
        add_reconstructed<mu>(sum, backward<mu>(parity, block, vector, slot), Real(Scalar(1)));
    });
    return sum;
  }

 private:
  using Ghosts = WilsonGhosts<Layout, Storage>;

  template <int mu>
  TRELLIS_SITE_FN HalfSpinor<Real> forward(int parity, int block, int vector, int slot) const {
    constexpr int leg = 2 * mu;
    const int there = neighbours_[8 * size_t(block) + leg], from = 1 - parity;
    decltype(projected_half<mu>(in_[0], 0, 0, Scalar(1))) half;
    if (there < 0)
      from_ghost(half,
                 ahead_[from][mu].load(ghost_index(there, from, leg, other_side(parity, vector, leg)), slot));
    else
      half =
          projected_half<mu>(in_[from], there * vectors_ + other_side(parity, vector, leg), slot, Scalar(-1));
    move_lanes(half, parity, leg);
    HalfSpinor<Real> h = multiply(links_[parity].rows(block * vectors_ + vector, mu), half);
    finish(h, parity, block, leg);
    return h;
  }
  template <int mu>
  TRELLIS_SITE_FN HalfSpinor<Real> backward(int parity, int block, int vector, int slot) const {
    constexpr int leg = 2 * mu + 1;
    const int there = neighbours_[8 * size_t(block) + leg], from = 1 - parity;
    const int side = other_side(parity, vector, leg);
    HalfSpinor<Real> h;
    if (there < 0)
      h = behind_[from][mu].load(ghost_index(there, from, leg, side), slot);
    else
      h = backward_half<mu>(links_[from], in_[from], there * vectors_ + side, slot, Scalar(1));
    stencil_[parity].move_lanes(h, leg);
    finish(h, parity, block, leg);
    return h;
  }

  /// Returns the vector at the other side of the edge, which is where the leg leads around the block.
  TRELLIS_SITE_FN int other_side(int parity, int vector, int leg) const {
    return stencil_[parity].neighbour(vector, leg).index;
  }
  /// Returns the index of a ghost. Senders number the vectors of their own edge, which the opposite leg
  /// leaves.
  TRELLIS_SITE_FN int ghost_index(int there, int from, int leg, int side) const {
    return ~there * edge_vectors_[from][leg ^ 1] + number_in_edge_[from][leg ^ 1][side];
  }
  TRELLIS_SITE_FN void move_lanes(HalfSpinor<Real>& h, int parity, int leg) const {
    stencil_[parity].move_lanes(h, leg);
  }
  template <class Pair>
  TRELLIS_SITE_FN void move_lanes(IntegerHalfSpinor<Real, Pair>& h, int parity, int leg) const {
    stencil_[parity].template move_lanes<Pair>(h.s[0], leg);
    stencil_[parity].template move_lanes<Pair>(h.s[1], leg);
    stencil_[parity].move_lanes(h.unit, leg);
  }
  /// Applies phase and coefficient of a leg. Lanes inside the block have the factor 0 here.
  TRELLIS_SITE_FN void finish(HalfSpinor<Real>& h, int parity, int block, int leg) const {
    stencil_[parity].apply_real_phase(h, leg);
    if (at_boundary_[8 * size_t(block) + leg]) {
      const Complex<Real> z{Real(phase_[leg].re), Real(phase_[leg].im)};
      unroll<2 * Nc>([&](auto k)
                         TRELLIS_INLINE_LAMBDA { h.s[k / Nc].c[k % Nc] = z * h.s[k / Nc].c[k % Nc]; });
    }
    stencil_[parity].apply_coefficient(h, leg);
  }

  StencilView<Layout, Scalar> stencil_[2];
  LinkView<Layout, Storage, LinkReals> links_[2];
  Spinors in_[2];
  const int32_t* neighbours_;
  const uint8_t* at_boundary_;
  const int32_t* number_in_edge_[2][8];
  int edge_vectors_[2][8];
  typename Ghosts::Forward ahead_[2][4];
  typename Ghosts::Backward behind_[2][4];
  Complex<Scalar> phase_[8];
  int vectors_;
};

/// It makes what a block sends to the rank behind a face.
template <class Layout, class Storage, int LinkReals>
class BlockFace {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit BlockFace(const BlockFaceCall& call)
      : call_{call}, links_{call.links}, in_{call.in}, ahead_{call.out}, behind_{call.out} {}

  TRELLIS_SITE_FN void operator()(int index, int slot) const {
    switch (call_.leg / 2) {
      case 0:
        return send<0>(index, slot);
      case 1:
        return send<1>(index, slot);
      case 2:
        return send<2>(index, slot);
      default:
        return send<3>(index, slot);
    }
  }

 private:
  template <int mu>
  TRELLIS_SITE_FN void send(int index, int slot) const {
    const int vector =
        call_.blocks[index / call_.edge_vectors] * call_.vectors + call_.edge[index % call_.edge_vectors];
    if (call_.leg % 2 == 0)
      ahead_.store(index, slot, to_ghost(projected_half<mu>(in_, vector, slot, Scalar(-1))));
    else
      behind_.store(index, slot, backward_half<mu>(links_, in_, vector, slot, Scalar(1)));
  }
  using Ghosts = WilsonGhosts<Layout, Storage>;
  BlockFaceCall call_;
  LinkView<Layout, Storage, LinkReals> links_;
  Spinors in_;
  typename Ghosts::Forward ahead_;
  typename Ghosts::Backward behind_;
};

}  // namespace trellis
