#pragma once
/// The solve inside a block of the Schwarz method is this, r being the residual of the whole lattice there:
///
///   p = r_e + H_eo A_oo^-1 r_o / 2,  x_e = 0;   so many times:
///     q = S p,  S = A_ee - H_eo A_oo^-1 H_oe / 4,  alpha = <q, p> / <q, q>,  x_e += alpha p,  p -= alpha q
///   x_o = A_oo^-1 (r_o + H_oe x_e / 2);   r_e = p,  r_o = 0
///
/// with all legs cut that leave the block. All its fields fit a core's own cache. Sums are those of its sites
/// in a fixed order: they do not depend on the lanes, and no other block knows of them. (M. Luescher,
/// hep-lat/0310048; A. Frommer, K. Kahl, S. Krieg, B. Leder, M. Rottmann, arXiv:1303.1377)
#include "trellis/kernels/dirac/site_diagonal.hpp"
#include "trellis/kernels/dirac/twisted_clover.hpp"
#include "trellis/kernels/dirac/wilson_hop.hpp"
#include "trellis/kernels/multigrid/block_edge.hpp"
#include "trellis/view/lines_ahead.hpp"

namespace trellis {

/// Returns the part of a field of N reals that begins with a vector and a right-hand side.
template <class Layout, class Storage, int N>
RawField field_from(RawField field, int vector, int slot = 0) {
  using Element = typename StorageTraits<Storage>::element;
  const size_t record = size_t(vector) * size_t(field.slots) + size_t(slot);
  field.data = static_cast<Element*>(field.data) + record * size_t(N * Layout::lanes);
  if (field.scale != nullptr) field.scale += record * size_t(Layout::lanes);
  return field;
}

/// A thread has this scratch memory: q on even sites, t on odd ones, and the terms of sums.
template <class Layout, class Storage>
class BlockScratch {
 public:
  using Element = typename StorageTraits<Storage>::element;
  using Scalar = typename StorageTraits<Storage>::compute;
  static size_t bytes(int vectors) { return 2 * field_bytes(vectors) + 3 * sums_bytes(vectors); }

  BlockScratch(void* memory, int vectors) : memory_{static_cast<char*>(memory)}, vectors_{vectors} {}
  RawField field(int which) const {
    char* p = memory_ + size_t(which) * field_bytes(vectors_);
    return {p, has_scales ? reinterpret_cast<float*>(p + data_bytes(vectors_)) : nullptr, 1};
  }
  Scalar* terms(int which) const {
    return reinterpret_cast<Scalar*>(memory_ + 2 * field_bytes(vectors_) +
                                     size_t(which) * sums_bytes(vectors_));
  }

 private:
  static constexpr bool has_scales = std::is_same_v<Storage, Half>;
  static constexpr size_t W = size_t(Layout::lanes);
  static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static size_t data_bytes(int vectors) { return rounded(size_t(vectors) * 24 * W * sizeof(Element)); }
  static size_t sums_bytes(int vectors) { return rounded(size_t(vectors) * W * sizeof(Scalar)); }
  static size_t field_bytes(int vectors) {
    return data_bytes(vectors) + (has_scales ? rounded(size_t(vectors) * W * sizeof(float)) : 0);
  }
  char* memory_;
  int vectors_;
};

template <class Layout, class Storage, int LinkReals>
class BlockSolve {
 public:
  using Spinors = SpinorView<Layout, Storage>;
  using Real = typename Spinors::Real;
  using Scalar = typename StorageTraits<Storage>::compute;

  explicit BlockSolve(const BlockSolveCall& call)
      : call_{call}, edge_{call.edge, call.links, call.arriving, call.vectors} {}

  /// Solves for all right-hand sides of a block; the next one is asked for, unless it is -1.
  void operator()(int block, int next, void* scratch) const {
    LinesAhead ahead;
    if (next >= 0) list_lines(ahead, next);
    for (int slot = 0; slot < call_.slots; ++slot) solve(block, slot, scratch, ahead);
  }

 private:
  void solve(int block, int slot, void* scratch, LinesAhead& ahead) const {
    const Block b = part(block, slot, scratch, ahead);
    if (call_.has_arriving) {
      arrive(block, slot, 0, b.residual[0]);
      arrive(block, slot, 1, b.residual[1]);
    }
    prepare(b);
    for (int k = 0; k < call_.iterations; ++k) iterate(b, k == 0);
    finish(b);
  }

  using Scratch = BlockScratch<Layout, Storage>;
  using Hop = WilsonHop<Layout, Storage, LinkReals>;

  /// It has the fields of one block and right-hand side.
  struct Block {
    RawField links[2], clover, inverse, twisted_inverse, residual[2], step[2], solution[2], q, t;
    Scalar *qp_re, *qp_im, *qq;
    LinesAhead* ahead;
  };

  template <int N>
  void add_part(LinesAhead& ahead, const RawField& field, int first, int vectors) const {
    const RawField part = field_from<Layout, Storage, N>(field, first);
    const size_t numbers = size_t(vectors) * size_t(field.slots) * size_t(Layout::lanes);
    ahead.add(part.data, numbers * N * sizeof(typename StorageTraits<Storage>::element));
    if (part.scale != nullptr) ahead.add(part.scale, numbers * sizeof(float));
  }
  void list_lines(LinesAhead& ahead, int block) const {
    const int first = block * call_.vectors;
    for (int parity = 0; parity < 2; ++parity) {
      add_part<24>(ahead, call_.residual[parity], first, call_.vectors);
      add_part<LinkReals>(ahead, call_.links[parity], first, call_.vectors);
    }
    if (call_.has_clover) {
      add_part<72>(ahead, call_.inverse, first, call_.vectors);
      add_part<72>(ahead, call_.clover, first, call_.vectors);
      if (call_.twist != 0) add_part<72>(ahead, call_.twisted_inverse, first, call_.vectors);
    }
    for (int parity = 0; parity < 2; ++parity) {
      add_part<24>(ahead, call_.solution[parity], first, call_.vectors);
      if (!call_.is_first) add_part<24>(ahead, call_.step[parity], first, call_.vectors);
    }
    if (call_.has_arriving)
      for (int parity = 0; parity < 2; ++parity)
        edge_.for_each_neighbour(block, parity, [&](int vector, int leg) {
          add_part<24>(ahead, call_.arriving[parity], vector, 1);
          if (leg % 2 == 1)
            ahead.add(field_from<Layout, Storage, LinkReals>(call_.links[parity], vector, leg / 2).data,
                      sizeof(typename StorageTraits<Storage>::element) * LinkReals * size_t(Layout::lanes));
        });
    ahead.spread((2 * call_.iterations + 2) * call_.vectors * call_.slots);
  }

  Block part(int block, int slot, void* scratch, LinesAhead& ahead) const {
    const int first = block * call_.vectors;
    const Scratch own(scratch, call_.vectors);
    Block b;
    b.ahead = &ahead;
    for (int parity = 0; parity < 2; ++parity) {
      b.links[parity] = field_from<Layout, Storage, LinkReals>(call_.links[parity], first);
      b.residual[parity] = field_from<Layout, Storage, 24>(call_.residual[parity], first, slot);
      b.step[parity] = field_from<Layout, Storage, 24>(call_.step[parity], first, slot);
      b.solution[parity] = field_from<Layout, Storage, 24>(call_.solution[parity], first, slot);
    }
    if (call_.has_clover) {
      b.clover = field_from<Layout, Storage, 72>(call_.clover, first);
      b.inverse = field_from<Layout, Storage, 72>(call_.inverse, first);
      if (call_.twist != 0) b.twisted_inverse = field_from<Layout, Storage, 72>(call_.twisted_inverse, first);
    }
    b.q = own.field(0);
    b.t = own.field(1);
    b.qp_re = own.terms(0);
    b.qp_im = own.terms(1);
    b.qq = own.terms(2);
    return b;
  }

  bool has_twisted_clover() const { return call_.has_clover && call_.twist != 0; }

  template <class F>
  void for_each_vector(const F& f) const {
    for (int vector = 0; vector < call_.vectors; ++vector) f(vector);
  }

  /// Adds the steps of other blocks: r += H (steps) / 2.
  void arrive(int block, int slot, int parity, const RawField& residual) const {
    const Spinors r(residual);
    const Real half(Scalar(0.5));
    const bool is_zero = parity == 1 && call_.is_odd_solved;
    for_each_vector([&](int vector) {
      const Spinor<Real> sum = edge_.sum(parity, block, vector, slot);
      Spinor<Real> result;
      if (is_zero) {
        unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { result.s[s] = half * sum.s[s]; });
      } else {
        const Spinor<Real> before = r.load(vector, 0);
        unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
          const Complex<Real>&a = before.s[k / Nc].c[k % Nc], &h = sum.s[k / Nc].c[k % Nc];
          result.s[k / Nc].c[k % Nc] = {fma(half, h.re, a.re), fma(half, h.im, a.im)};
        });
      }
      r.store(vector, 0, result);
    });
  }

  WilsonHopCall hop_call(const Block& b, int parity, const RawField& out, const RawField& in) const {
    WilsonHopCall call;
    call.stencil = call_.inner[parity];
    call.links_here = b.links[parity];
    call.links_there = b.links[1 - parity];
    call.in = in;
    call.out = out;
    return call;
  }
  void run(const Block& b, const WilsonHopCall& call) const {
    const Hop hop(call);
    for_each_vector([&](int vector) {
      b.ahead->ask();
      hop(vector, 0);
    });
  }
  /// Computes out = [sum +] A^-1 in on odd sites, or A in on even ones. @pre has_twisted_clover()
  void twisted_clover(const Block& b, const RawField& out, const RawField& in, const RawField& sum,
                      bool is_inverse) const {
    TwistedCloverCall call;
    call.out = out;
    call.in = in;
    call.sum = sum;
    call.P = is_inverse ? b.inverse : b.clover;
    if (is_inverse) call.Q = b.twisted_inverse;
    call.twist = is_inverse ? -call_.twist : call_.twist;
    const TwistedClover<Layout, Storage> kernel(call);
    for_each_vector([&](int vector) { kernel(vector, 0); });
  }
  void inverse_on_odd(const Block& b, const RawField& out, const RawField& in) const {
    if (has_twisted_clover()) return twisted_clover(b, out, in, {}, true);
    SiteDiagonalCall call;
    call.out = out;
    call.in = in;
    call.clover = b.inverse;
    call.term = call_.has_clover ? SiteTerm::clover : SiteTerm::chiral_scalar;
    set(call.scalar, call_.inverse_diagonal);
    const SiteDiagonal<Layout, Storage> kernel(call);
    for_each_vector([&](int vector) { kernel(vector, 0); });
  }
  static void set(double (&to)[2], const double (&from)[2], double factor = 1) {
    to[0] = factor * from[0];
    to[1] = factor * from[1];
  }

  /// Computes p = r_e + H A^-1 r_o / 2, in the memory of r_e.
  void prepare(const Block& b) const {
    inverse_on_odd(b, b.t, b.residual[1]);
    WilsonHopCall call = hop_call(b, 0, b.residual[0], b.t);
    call.x = b.residual[0];
    call.x_term = SiteTerm::chiral_scalar;
    call.x_scalar[0] = 1;
    call.hop_scalar[0] = 0.5;
    run(b, call);
  }

  /// Computes t = A^-1 H p.
  void hop_to_odd(const Block& b) const {
    WilsonHopCall call = hop_call(b, 1, b.t, b.residual[0]);
    if (has_twisted_clover()) {
      run(b, call);
      return twisted_clover(b, b.t, b.t, {}, true);
    }
    if (call_.has_clover) {
      call.hop_term = SiteTerm::clover;
      call.clover = b.inverse;
    } else {
      set(call.hop_scalar, call_.inverse_diagonal);
    }
    run(b, call);
  }
  /// Computes q = A p - H t / 4.
  void hop_to_even(const Block& b) const {
    WilsonHopCall call = hop_call(b, 0, b.q, b.t);
    call.hop_scalar[0] = -0.25;
    if (has_twisted_clover()) {
      run(b, call);
      return twisted_clover(b, b.q, b.residual[0], b.q, false);
    }
    call.x = b.residual[0];
    if (call_.has_clover) {
      call.x_term = SiteTerm::clover;
      call.clover = b.clover;
    } else {
      call.x_term = SiteTerm::chiral_scalar;
      set(call.x_scalar, call_.diagonal);
    }
    run(b, call);
  }

  /// Returns <q, p> / <q, q>.
  Complex<Scalar> minimising(const Block& b) const {
    const Spinors p(b.residual[0]), q(b.q);
    for_each_vector([&](int vector) {
      const Spinor<Real> a = q.load(vector, 0), c = p.load(vector, 0);
      Complex<Real> qp{Real(Scalar(0)), Real(Scalar(0))};
      Real qq(Scalar(0));
      unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
        const Complex<Real>&u = a.s[k / Nc].c[k % Nc], &v = c.s[k / Nc].c[k % Nc];
        conj_mul_add(qp, u, v);
        qq = fma(u.re, u.re, qq);
        qq = fma(u.im, u.im, qq);
      });
      store_real(b.qp_re + vector * Layout::lanes, qp.re);
      store_real(b.qp_im + vector * Layout::lanes, qp.im);
      store_real(b.qq + vector * Layout::lanes, qq);
    });
    const double qq = sum(b.qq);
    if (!(qq > 0)) return {Scalar(0), Scalar(0)};
    return {Scalar(sum(b.qp_re) / qq), Scalar(sum(b.qp_im) / qq)};
  }
  /// Adds in the order of sites, in eight sums side by side.
  double sum(const Scalar* terms) const {
    constexpr int width = 8;
    const int count = call_.vectors * Layout::lanes;
    double sums[width] = {};
    for (int i = 0; i < count; ++i) sums[i % width] += double(terms[call_.order[i]]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }

  void iterate(const Block& b, bool is_first) const {
    hop_to_odd(b);
    hop_to_even(b);
    const Complex<Scalar> alpha = minimising(b);
    const Complex<Real> plus{Real(alpha.re), Real(alpha.im)}, minus{Real(-alpha.re), Real(-alpha.im)};
    const Spinors p(b.residual[0]), q(b.q), x(b.step[0]);
    for_each_vector([&](int vector) {
      Spinor<Real> a = p.load(vector, 0);
      Spinor<Real> y;
      if (is_first) {
        unroll<Ns * Nc>([&](auto k)
                            TRELLIS_INLINE_LAMBDA { y.s[k / Nc].c[k % Nc] = plus * a.s[k / Nc].c[k % Nc]; });
      } else {
        y = x.load(vector, 0);
        unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
          mul_add(y.s[k / Nc].c[k % Nc], plus, a.s[k / Nc].c[k % Nc]);
        });
      }
      x.store(vector, 0, y);
      const Spinor<Real> c = q.load(vector, 0);
      unroll<Ns * Nc>([&](auto k) TRELLIS_INLINE_LAMBDA {
        mul_add(a.s[k / Nc].c[k % Nc], minus, c.s[k / Nc].c[k % Nc]);
      });
      p.store(vector, 0, a);
    });
  }

  /// Computes x_o = A^-1 (r_o + H x_e / 2), and gives the step to the solution.
  void finish(const Block& b) const {
    WilsonHopCall call = hop_call(b, 1, b.step[1], b.step[0]);
    call.x = b.residual[1];
    if (has_twisted_clover()) {
      call.x_term = SiteTerm::chiral_scalar;
      call.x_scalar[0] = 1;
      call.hop_scalar[0] = 0.5;
      run(b, call);
      twisted_clover(b, b.step[1], b.step[1], {}, true);
    } else {
      if (call_.has_clover) {
        call.x_term = call.hop_term = SiteTerm::clover;
        call.clover = b.inverse;
        call.coefficient = 0.5;
      } else {
        call.x_term = SiteTerm::chiral_scalar;
        set(call.x_scalar, call_.inverse_diagonal);
        set(call.hop_scalar, call_.inverse_diagonal, 0.5);
      }
      run(b, call);
    }
    if (call_.is_first) return;  // the step is the solution
    for (int parity = 0; parity < 2; ++parity) {
      const Spinors x(b.solution[parity]), step(b.step[parity]);
      for_each_vector([&](int vector) {
        Spinor<Real> y = x.load(vector, 0);
        const Spinor<Real> d = step.load(vector, 0);
        unroll<Ns>([&](auto s) TRELLIS_INLINE_LAMBDA { y.s[s] = y.s[s] + d.s[s]; });
        x.store(vector, 0, y);
      });
    }
  }

  BlockSolveCall call_;
  BlockEdge<Layout, Storage, LinkReals> edge_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_block_solve(const BlockSolveCall& call, const SiteRange& blocks);
/// Returns the bytes of scratch memory that each thread needs.
template <class Layout, class Storage>
size_t block_scratch_bytes(int vectors);
/// The entries of the range count vectors at the face, [face block][vector].
template <class Layout, class Storage>
void launch_block_face(const BlockFaceCall& call, const SiteRange& vectors);
template <class Layout, class Storage>
void launch_copy_to_blocks(const BlockCopyCall& call, const SiteRange& vectors);
template <class Layout, class Storage>
void launch_copy_from_blocks(const BlockCopyCall& call, const SiteRange& vectors);

}  // namespace trellis
