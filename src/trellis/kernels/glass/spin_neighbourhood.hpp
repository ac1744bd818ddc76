#pragma once
/// A site has six bonds: its neighbours' spins and the couplings, whatever the layout. Bonds lie in x, y and
/// z; the fourth direction counts samples of disorder, which share nothing.
#include "trellis/algebra/lane_functions.hpp"
#include "trellis/algebra/unroll.hpp"
#include "trellis/kernels/glass/sign_bits.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

inline constexpr int bond_legs = 6;  ///< leg 2 mu leads to x+mu, leg 2 mu + 1 to x-mu

/// It has the sites of one parity with all that lies around them. Spins have a slot for each set of them;
/// couplings belong to all slots.
struct SpinCall {
  RawField spins;   ///< they have this parity
  RawField others;  ///< they have the other one
  RawField ghosts;  ///< they are those of the other parity on other ranks
  RawField couplings, other_couplings, coupling_ghosts;  ///< they are J of the bonds to x+mu
  const uint8_t* signs = nullptr;  ///< they are [block][lane], in place of couplings (sign_bits.hpp)
  /// It is [block][8], with entries as in lattice/site_layout.hpp, or -1: no bond. With ghost_bit and without
  /// crosses_bit they name the block of ghosts that the neighbours of all lanes are.
  const int32_t* table = nullptr;
  const int32_t* permutations[bond_legs] = {};  ///< they are null where lanes do not move
  /// It has [leg][block][lane]: place << 1 | is_ghost (lattice/site_halo.hpp), with legs `places_of_leg`
  /// apart.
  const int32_t* places = nullptr;
  size_t places_of_leg = 0;
  int slots = 1;
};

/// With has_ghosts it serves blocks with neighbours on other ranks, too.
/// With has_one_slot there is one set of spins, and where a site lies is known without a number from memory.
template <class Layout, class Storage, bool has_signs, bool has_ghosts, bool has_one_slot = false>
class SpinNeighbourhood {
 public:
  using Array = SiteArray<Layout, Storage, 3>;
  using Real = typename Array::Real;
  using Scalar = typename Array::Scalar;
  static constexpr int W = Layout::lanes;
  static constexpr bool is_of_one_slot = has_one_slot;

  explicit SpinNeighbourhood(const SpinCall& call)
      : call_{call},
        spins_{call.spins},
        others_{call.others},
        couplings_{call.couplings},
        other_couplings_{call.other_couplings},
        spins_around_{{call.others, 3}, {call.ghosts, 3}, Array(call.ghosts)},
        couplings_around_{{call.other_couplings, 3}, {call.coupling_ghosts, 3}, Array(call.coupling_ghosts)} {
  }

  TRELLIS_SITE_FN int slots() const { return call_.slots; }
  TRELLIS_SITE_FN const Array& spins() const { return spins_; }

  /// It has what the slots of a block have in common. A block that is_plain has all six bonds, no neighbour
  /// lies across an edge of the sub-lattice, and none on another rank; most blocks do, and need no test for
  /// each bond.
  template <bool plain>
  struct BondsOf {
    static constexpr bool is_plain = plain;
    int block;
    int32_t entries[bond_legs];  ///< they come from the table
    Real J[bond_legs];
  };
  using Bonds = BondsOf<false>;

  /// Calls f(bonds), with BondsOf<true> where that is right.
  template <class F>
  TRELLIS_SITE_FN void with_bonds(int block, const F& f) const {
    if constexpr (!has_ghosts) {
      constexpr int32_t is_odd_entry = int32_t(0x80000001u);  // there is no bond, or it leads across an edge
      const int32_t* entries = call_.table + size_t(block) * 8;
      const int32_t all = entries[0] | entries[1] | entries[2] | entries[3] | entries[4] | entries[5];
      if ((all & is_odd_entry) == 0) return f(make_bonds<true>(block));
    }
    f(make_bonds<false>(block));
  }
  TRELLIS_SITE_FN Bonds bonds(int block) const { return make_bonds<false>(block); }

  /// Tells whether a bond exists, which it does not in a direction with an extent of 1.
  template <bool plain>
  TRELLIS_SITE_FN static bool has_bond(const BondsOf<plain>& b, int leg) {
    return plain || b.entries[leg] >= 0;
  }

  /// Reads the neighbour's spin. @pre has_bond
  template <int leg, bool plain>
  TRELLIS_SITE_FN void neighbour(const BondsOf<plain>& b, int slot, Real (&S)[3]) const {
    read<leg, 0, has_one_slot>(others_, spins_around_, b, slot, S);
  }

  /// Computes h = sum of J S' over the bonds.
  template <bool plain>
  TRELLIS_SITE_FN void local_field(const BondsOf<plain>& b, int slot, Real (&h)[3]) const {
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { h[i] = Real(0); });
    unroll<bond_legs>([&](auto leg) TRELLIS_INLINE_LAMBDA {
      if (!has_bond(b, leg)) return;
      Real S[3];
      neighbour<leg>(b, slot, S);
      unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA { h[i] = fma(b.J[leg], S[i], h[i]); });
    });
  }

 private:
  static constexpr int32_t crosses_bit = 1, ghost_bit = 2;  ///< in entries of the table
  /// It has sites of this rank, and ghosts.
  struct Around {
    SiteElements<Layout, Storage> inner, outer;
    Array ghosts;  ///< outer, block by block
  };

  template <bool plain>
  TRELLIS_SITE_FN BondsOf<plain> make_bonds(int block) const {
    BondsOf<plain> b;
    b.block = block;
    unroll<bond_legs>([&](auto leg) TRELLIS_INLINE_LAMBDA {
      b.entries[leg] = call_.table[size_t(block) * 8 + size_t(leg)];
      if constexpr (!plain) b.J[leg] = Real(0);
    });
    if constexpr (has_signs) {
      const SignBits<Real> bits = SignBits<Real>::load(call_.signs + size_t(block) * W);
      unroll<bond_legs>([&](auto leg) TRELLIS_INLINE_LAMBDA { b.J[leg] = bits.sign(leg); });
    } else {
      unroll<bond_legs>([&](auto leg) TRELLIS_INLINE_LAMBDA {
        if (!has_bond(b, leg)) return;
        Real J[1];
        if constexpr (leg % 2 == 0)
          J[0] = component<true>(couplings_, block, 0, leg / 2);
        else
          read<leg, leg / 2, true>(other_couplings_, couplings_around_, b, 0, J);
        b.J[leg] = J[0];
      });
    }
    return b;
  }

  /// Returns component k of a site; is_single tells of an array with one slot.
  template <bool is_single>
  TRELLIS_SITE_FN static Real component(const Array& array, int block, int slot, int k) {
    if constexpr (is_single && !Array::is_gpu)
      return load_real<Real>(array.origin_address(0, 0) + (size_t(unsigned(block)) * 3 + size_t(k)) * W);
    else
      return array.component(block, slot, k, Real(1));
  }

  /// Reads r = components first.. of the neighbour, in `array` or in the ghosts.
  template <int leg, int first, bool is_single, bool plain, int N>
  TRELLIS_SITE_FN void read(const Array& array, const Around& around, const BondsOf<plain>& b, int slot,
                            Real (&r)[N]) const {
    const int32_t entry = b.entries[leg];
    if constexpr (has_ghosts && W == 1)  // each ghost is a block of its own
      return read_block<first, is_single>((entry & ghost_bit) != 0 ? around.ghosts : array, entry >> 2, slot,
                                          r);
    if constexpr (has_ghosts)
      if ((entry & ghost_bit) != 0) {
        if ((entry & crosses_bit) != 0) return read_each<leg, first>(around, b.block, slot, r);
        return read_block<first, is_single>(around.ghosts, entry >> 2, slot, r);
      }
    read_block<first, is_single>(array, entry >> 2, slot, r);
    if constexpr (W > 1 && !plain)
      if ((entry & crosses_bit) != 0 && call_.permutations[leg] != nullptr)
        unroll<N>([&](auto k) TRELLIS_INLINE_LAMBDA { r[k] = permute(r[k], call_.permutations[leg]); });
  }

  template <int first, bool is_single, int N>
  TRELLIS_SITE_FN static void read_block(const Array& array, int block, int slot, Real (&r)[N]) {
    unroll<N>([&](auto k)
                  TRELLIS_INLINE_LAMBDA { r[k] = component<is_single>(array, block, slot, first + k); });
  }

  /// Reads neighbours site by site, some of which lie on another rank.
  template <int leg, int first, int N>
  TRELLIS_SITE_FN void read_each(const Around& around, int block, int slot, Real (&r)[N]) const {
    const int32_t* places = call_.places + size_t(leg) * call_.places_of_leg + size_t(block) * W;
    for (int i = 0; i < W; ++i) {
      const int at = places[i] >> 1;
      const auto& from = (places[i] & 1) != 0 ? around.outer : around.inner;
      for (int k = 0; k < N; ++k) set_lane(r[k], i, *from.element(at / W, at % W, slot, first + k));
    }
  }

  SpinCall call_;
  Array spins_, others_, couplings_, other_couplings_;
  Around spins_around_, couplings_around_;
};

/// Returns if_zero in lanes where `test` is 0, else `otherwise`.
TRELLIS_SITE_FN float where_zero(float test, float if_zero, float otherwise) {
  return test == 0 ? if_zero : otherwise;
}
TRELLIS_SITE_FN double where_zero(double test, double if_zero, double otherwise) {
  return test == 0 ? if_zero : otherwise;
}
#if !defined(__CUDACC__)
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, true> where_zero(Lanes<T, W, true> test, Lanes<T, W, true> if_zero,
                                             Lanes<T, W, true> otherwise) {
  return Lanes<T, W, true>(test.v == typename Lanes<T, W, true>::Vector{} ? if_zero.v : otherwise.v);
}
template <class T, int W>
TRELLIS_SITE_FN Lanes<T, W, false> where_zero(Lanes<T, W, false> test, Lanes<T, W, false> if_zero,
                                              Lanes<T, W, false> otherwise) {
  return {where_zero(test.lo, if_zero.lo, otherwise.lo), where_zero(test.hi, if_zero.hi, otherwise.hi)};
}
#endif  // !__CUDACC__

/// Returns a . b.
template <class R>
TRELLIS_SITE_FN R dot(const R (&a)[3], const R (&b)[3]) {
  return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0]));
}

}  // namespace trellis
