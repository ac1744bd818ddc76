#pragma once
/// The linear algebra kernels are functors here: AtSite of one right-hand side, whose coefficients travel by
/// value, and AllSlots of any of them, on the host alone, where the coefficients are read where they lie.
#include <array>

#include "trellis/kernels/linalg/any_reals.hpp"
#include "trellis/kernels/linalg/linear_algebra.hpp"
#include "trellis/kernels/linalg/with_norm.hpp"

namespace trellis {

template <class Layout, class Storage, int N, bool is_complex>
class CombineAllSlots {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  explicit CombineAllSlots(const CombineCall& call)
      : out_{call.out}, x_{call.x}, y_{call.y}, has_y_{call.has_y}, a_{call.a}, b_{call.b} {}
  void operator()(int block, int slot) const {
    typename Kernel::Real r[N];
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_ + 2 * slot, b_ + 2 * slot, block, slot, r);
  }

 private:
  typename Kernel::Array out_, x_, y_;
  bool has_y_;
  const double *a_, *b_;
};

template <class Layout, class Storage, int N, bool is_complex>
class CombineAtSite {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  using AllSlots = CombineAllSlots<Layout, Storage, N, is_complex>;
  static constexpr bool has_pairs = false;
  CombineAtSite(const CombineCall& call, int slot)
      : out_{call.out}, x_{call.x}, y_{call.y}, has_y_{call.has_y}, slot_{slot} {
    for (int i = 0; i < 2; ++i) {
      a_[i] = call.a[2 * slot + i];
      b_[i] = call.has_y ? call.b[2 * slot + i] : 0.0;
    }
  }
  TRELLIS_SITE_FN void operator()(int block) const {
    typename Kernel::Real r[N];
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_, b_, block, slot_, r);
  }
  /// Does the same, and returns |out|^2.
  TRELLIS_SITE_FN typename Kernel::Term with_norm(int block) const {
    typename Kernel::Real r[N];
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_, b_, block, slot_, r);
    if constexpr (Kernel::Array::rounds)
      return Kernel::norm_term(out_, block, slot_);
    else
      return Kernel::norm_term(r);
  }

 private:
  typename Kernel::Array out_, x_, y_;
  bool has_y_;
  int slot_;
  double a_[2], b_[2];
};

template <class Layout, class Storage, int N>
class NormAtSite {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  NormAtSite(const DotCall& call, int slot) : x_{call.x}, slot_{slot} {}
  TRELLIS_SITE_FN std::array<typename Kernel::Term, 1> operator()(int block) const {
    return {Kernel::norm_term(x_, block, slot_)};
  }

 private:
  typename Kernel::Array x_;
  int slot_;
};

template <class Layout, class Storage, int N>
class DotAtSite {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  DotAtSite(const DotCall& call, int slot) : x_{call.x}, y_{call.y}, slot_{slot} {}
  TRELLIS_SITE_FN std::array<typename Kernel::Term, 2> operator()(int block) const {
    std::array<typename Kernel::Term, 2> terms;
    Kernel::dot_term(x_, y_, block, slot_, terms[0], terms[1]);
    return terms;
  }

 private:
  typename Kernel::Array x_, y_;
  int slot_;
};

template <class Layout, class Storage, int N>
class UpdateAllSlots {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  explicit UpdateAllSlots(const UpdateCall& call)
      : x_{call.x}, r_{call.r}, p_{call.p}, alpha_{call.alpha}, beta_{call.beta} {}
  /// It is inlined: as a call for each block it took an eighth longer in cache.
  [[gnu::always_inline]] void operator()(int block, int slot) const {
    using Scalar = typename Kernel::Scalar;
    Kernel::update(x_, r_, p_, Scalar(alpha_[slot]), Scalar(beta_[slot]), block, slot);
  }

 private:
  typename Kernel::Array x_, r_, p_;
  const double *alpha_, *beta_;
};

template <class Layout, class Storage, int N>
class UpdateAtSite {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  using AllSlots = UpdateAllSlots<Layout, Storage, N>;
  UpdateAtSite(const UpdateCall& call, int slot)
      : x_{call.x}, r_{call.r}, p_{call.p}, slot_{slot}, alpha_{call.alpha[slot]}, beta_{call.beta[slot]} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    using Scalar = typename Kernel::Scalar;
    Kernel::update(x_, r_, p_, Scalar(alpha_), Scalar(beta_), block, slot_);
  }

 private:
  typename Kernel::Array x_, r_, p_;
  int slot_;
  double alpha_, beta_;
};

/// Does the same for any number of reals.
template <class Layout, class Storage, bool is_complex>
class CombineAnyAllSlots {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  explicit CombineAnyAllSlots(const CombineCall& call)
      : out_{call.out, call.reals},
        x_{call.x, call.reals},
        y_{call.y, call.reals},
        has_y_{call.has_y},
        a_{call.a},
        b_{call.b} {}
  void operator()(int block, int slot) const {
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_ + 2 * slot, b_ + 2 * slot, block, slot);
  }

 private:
  typename Kernel::Elements out_, x_, y_;
  bool has_y_;
  const double *a_, *b_;
};

template <class Layout, class Storage, bool is_complex>
class CombineAnyAtSite {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  using AllSlots = CombineAnyAllSlots<Layout, Storage, is_complex>;
  static constexpr bool has_pairs = !Kernel::Elements::is_half;
  CombineAnyAtSite(const CombineCall& call, int slot)
      : out_{call.out, call.reals},
        x_{call.x, call.reals},
        y_{call.y, call.reals},
        has_y_{call.has_y},
        slot_{slot} {
    for (int i = 0; i < 2; ++i) {
      a_[i] = call.a[2 * slot + i];
      b_[i] = call.has_y ? call.b[2 * slot + i] : 0.0;
    }
  }
  TRELLIS_SITE_FN void operator()(int block) const {
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_, b_, block, slot_);
  }
  TRELLIS_SITE_FN void pair(int block, int i) const {
    Kernel::template combine_pair<is_complex>(out_, x_, y_, has_y_, a_, b_, block, slot_, i);
  }
  TRELLIS_SITE_FN typename Kernel::Term with_norm(int block) const {
    (*this)(block);
    return Kernel::norm_term(out_, block, slot_);
  }

 private:
  typename Kernel::Elements out_, x_, y_;
  bool has_y_;
  int slot_;
  double a_[2], b_[2];
};

template <class Layout, class Storage>
class NormAnyAtSite {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  NormAnyAtSite(const DotCall& call, int slot) : x_{call.x, call.reals}, slot_{slot} {}
  TRELLIS_SITE_FN std::array<typename Kernel::Term, 1> operator()(int block) const {
    return {Kernel::norm_term(x_, block, slot_)};
  }

 private:
  typename Kernel::Elements x_;
  int slot_;
};

template <class Layout, class Storage>
class DotAnyAtSite {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  DotAnyAtSite(const DotCall& call, int slot) : x_{call.x, call.reals}, y_{call.y, call.reals}, slot_{slot} {}
  TRELLIS_SITE_FN std::array<typename Kernel::Term, 2> operator()(int block) const {
    std::array<typename Kernel::Term, 2> terms;
    Kernel::dot_term(x_, y_, block, slot_, terms[0], terms[1]);
    return terms;
  }

 private:
  typename Kernel::Elements x_, y_;
  int slot_;
};

template <class Layout, class Storage>
class UpdateAnyAllSlots {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  explicit UpdateAnyAllSlots(const UpdateCall& call)
      : x_{call.x, call.reals},
        r_{call.r, call.reals},
        p_{call.p, call.reals},
        alpha_{call.alpha},
        beta_{call.beta} {}
  void operator()(int block, int slot) const {
    using Scalar = typename Kernel::Scalar;
    Kernel::update(x_, r_, p_, Scalar(alpha_[slot]), Scalar(beta_[slot]), block, slot);
  }

 private:
  typename Kernel::Elements x_, r_, p_;
  const double *alpha_, *beta_;
};

template <class Layout, class Storage>
class UpdateAnyAtSite {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  using AllSlots = UpdateAnyAllSlots<Layout, Storage>;
  UpdateAnyAtSite(const UpdateCall& call, int slot)
      : x_{call.x, call.reals},
        r_{call.r, call.reals},
        p_{call.p, call.reals},
        slot_{slot},
        alpha_{call.alpha[slot]},
        beta_{call.beta[slot]} {}
  TRELLIS_SITE_FN void operator()(int block) const {
    using Scalar = typename Kernel::Scalar;
    Kernel::update(x_, r_, p_, Scalar(alpha_), Scalar(beta_), block, slot_);
  }

 private:
  typename Kernel::Elements x_, r_, p_;
  int slot_;
  double alpha_, beta_;
};

}  // namespace trellis
