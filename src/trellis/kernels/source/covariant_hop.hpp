#pragma once
/// This file has gauge-covariant nearest-neighbour sums without spin structure, and the faces that they need:
///
///   out(x) = diagonal psi(x) + coefficient sum_{k < directions} [ U_k(x) psi(x+k) + U_k(x-k)^dagger psi(x-k)
///   ]
///
/// For directions = 3 it is a step of Gaussian smearing. There are no boundary phases. With n directions a
/// site reads 2 n links and psi of both parities; per right-hand side it takes 2 n matrix-spinor products, 2
/// n - 1 sums and the combination, 528 n + 24 (2 n - 1) + 72 flop.
#include "trellis/kernels/halo/lane_face.hpp"
#include "trellis/view/raw_stencil.hpp"

namespace trellis {

struct SiteRange;

struct CovariantHopCall {
  RawStencil stencil;
  RawField links_here, links_there;  ///< they have the parity of out, and the other one
  RawField psi_here, psi_there;
  RawField ghosts[8];  ///< they are full spinors; those of the backward legs are U^dagger psi
  RawField out;
  double diagonal = 0.0, coefficient = 1.0;
  int directions = 3, slots = 1;
};

template <class Layout, class Storage>
class CovariantHop {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit CovariantHop(const CovariantHopCall& call)
      : stencil_{call.stencil.table, call.stencil.legs},
        links_here_{call.links_here},
        links_there_{call.links_there},
        psi_here_{call.psi_here},
        psi_there_{call.psi_there},
        out_{call.out},
        diagonal_{Scalar(call.diagonal)},
        coefficient_{Scalar(call.coefficient)},
        directions_{call.directions} {
    for (int leg = 0; leg < 8; ++leg) ghosts_[leg] = Spinors(call.ghosts[leg]);
  }

  TRELLIS_SITE_FN void operator()(int block, int slot) const {
    Spinor<Real> sum = forward(block, 0, slot);
    add(sum, backward(block, 0, slot));
    for (int mu = 1; mu < directions_; ++mu) {
      add(sum, forward(block, mu, slot));
      add(sum, backward(block, mu, slot));
    }
    Spinor<Real> psi = psi_here_.load(block, slot);
    const Real a(diagonal_), b(coefficient_);
    Real* p = reinterpret_cast<Real*>(&psi);
    const Real* s = reinterpret_cast<const Real*>(&sum);
    unroll<24>([&](auto i) TRELLIS_INLINE_LAMBDA { p[i] = fma(b, s[i], a * p[i]); });
    out_.store(block, slot, psi);
  }

 private:
  TRELLIS_SITE_FN static void add(Spinor<Real>& sum, const Spinor<Real>& h) {
    unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { sum.s[s] = sum.s[s] + h.s[s]; });
  }
  TRELLIS_SITE_FN Spinor<Real> forward(int block, int mu, int slot) const {
    const int leg = 2 * mu;
    const Neighbour n = stencil_.neighbour(block, leg);
    Spinor<Real> h = n.is_ghost ? ghosts_[leg].load(n.index, slot) : psi_there_.load(n.index, slot);
    if (n.crosses && !n.is_ghost) stencil_.move_lanes(h, leg);
    const ColorMatrix<Real> U = links_here_.load(block, mu);
    unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { h.s[s] = U * h.s[s]; });
    return h;
  }
  TRELLIS_SITE_FN Spinor<Real> backward(int block, int mu, int slot) const {
    const int leg = 2 * mu + 1;
    const Neighbour n = stencil_.neighbour(block, leg);
    if (n.is_ghost) return ghosts_[leg].load(n.index, slot);
    Spinor<Real> h = psi_there_.load(n.index, slot);
    const ColorMatrix<Real> U = links_there_.load(n.index, mu);
    unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { h.s[s] = dagger_mul(U, h.s[s]); });
    if (n.crosses) stencil_.move_lanes(h, leg);
    return h;
  }

  StencilView<Layout, Scalar> stencil_;
  LinkView<Layout, Storage, 18> links_here_, links_there_;
  Spinors psi_here_, psi_there_, out_, ghosts_[8];
  Scalar diagonal_, coefficient_;
  int directions_;
};

/// They are the full spinors that a leg of the receiver needs, formed by the sender:
///   leg 2 mu (x+mu): psi(y) on the face y_mu = 0
///   leg 2 mu + 1 (x-mu): U_mu(y)^dagger psi(y) on the face y_mu = L - 1
struct SpinorFacesCall {
  LaneFaceCalls faces;
  RawField links, in;
  int slots = 1;
};

template <class Layout, class Storage>
class SpinorFaces {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  static constexpr int most = LaneFaceCalls::most;

  explicit SpinorFaces(const SpinorFacesCall& call)
      : count_{call.faces.count}, links_{call.links}, in_{call.in} {
    for (int face = 0; face < count_; ++face)
      faces_[face] = LaneFace<Layout, Spinors>(call.faces.faces[face]);
  }

  int count() const { return count_; }
  int sites(int face) const { return faces_[face].blocks(); }

  TRELLIS_SITE_FN void pack(int number, int index, int slot) const {
    const LaneFace<Layout, Spinors>& face = faces_[number];
    const int block = face.block(index);
    Spinor<Real> h = in_.load(block, slot);
    if (number % 2 != 0) {
      const ColorMatrix<Real> U = links_.load(block, face.direction());
      unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { h.s[s] = dagger_mul(U, h.s[s]); });
    }
    face.send(h, index, slot);
  }

 private:
  int count_;
  LaneFace<Layout, Spinors> faces_[most];
  LinkView<Layout, Storage, 18> links_;
  Spinors in_;
};

/// It is what a leg receives where lanes split its direction.
template <class Layout, class Storage>
class SpinorArrivals {
 public:
  explicit SpinorArrivals(const LaneFaceCall& call) : face_{call} {}
  TRELLIS_SITE_FN void unpack(int index, int slot) const { face_.receive(index, slot); }

 private:
  LaneFace<Layout, SpinorView<Layout, Storage>> face_;
};

template <class Layout, class Storage>
void launch_covariant_hop(const CovariantHopCall& call, const SiteRange& blocks);
template <class Layout, class Storage>
void launch_spinor_pack(const SpinorFacesCall& call);
template <class Layout, class Storage>
void launch_spinor_unpack(const LaneFaceCall& call, const SiteRange& face);

}  // namespace trellis
