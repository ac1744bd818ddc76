#pragma once
/// The linear algebra kernels as functors of one right-hand side, for devices: coefficients travel by value,
/// and the terms of sums are written to f's second argument. f(site, int) is the form without a sum.
#include "trellis/kernels/linalg/any_reals.hpp"
#include "trellis/kernels/linalg/linear_algebra.hpp"

namespace trellis {

template <class Layout, class Storage, int N, bool is_complex>
class CombineAtSite {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  CombineAtSite(const CombineCall& call, int slot)
      : out_{call.out}, x_{call.x}, y_{call.y}, has_y_{call.has_y}, slot_{slot} {
    for (int i = 0; i < 2; ++i) {
      a_[i] = call.a[2 * slot + i];
      b_[i] = call.has_y ? call.b[2 * slot + i] : 0.0;
    }
  }
  TRELLIS_SITE_FN void operator()(int site, int) const {
    typename Kernel::Real r[N];
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_, b_, site, slot_, r);
  }
  TRELLIS_SITE_FN void operator()(int site, double (&terms)[1]) const {
    typename Kernel::Real r[N];
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_, b_, site, slot_, r);
    if constexpr (Kernel::Array::rounds)
      terms[0] = Kernel::norm_term(out_, site, slot_);
    else
      terms[0] = Kernel::norm_term(r);
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
  TRELLIS_SITE_FN void operator()(int site, double (&terms)[1]) const {
    terms[0] = Kernel::norm_term(x_, site, slot_);
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
  TRELLIS_SITE_FN void operator()(int site, double (&terms)[2]) const {
    Kernel::dot_term(x_, y_, site, slot_, terms[0], terms[1]);
  }

 private:
  typename Kernel::Array x_, y_;
  int slot_;
};

template <class Layout, class Storage, int N>
class UpdateAtSite {
 public:
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  UpdateAtSite(const UpdateCall& call, int slot)
      : x_{call.x}, r_{call.r}, p_{call.p}, slot_{slot}, alpha_{call.alpha[slot]}, beta_{call.beta[slot]} {}
  TRELLIS_SITE_FN void operator()(int site, int) const {
    using Scalar = typename Kernel::Scalar;
    Kernel::update(x_, r_, p_, Scalar(alpha_), Scalar(beta_), site, slot_);
  }

 private:
  typename Kernel::Array x_, r_, p_;
  int slot_;
  double alpha_, beta_;
};

/// The same for any number of reals.
template <class Layout, class Storage, bool is_complex>
class CombineAnyAtSite {
 public:
  using Kernel = AnyReals<Layout, Storage>;
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
  TRELLIS_SITE_FN void operator()(int site, int) const {
    Kernel::template combine<is_complex>(out_, x_, y_, has_y_, a_, b_, site, slot_);
  }
  TRELLIS_SITE_FN void operator()(int site, double (&terms)[1]) const {
    (*this)(site, 0);
    terms[0] = Kernel::norm_term(out_, site, slot_);
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
  TRELLIS_SITE_FN void operator()(int site, double (&terms)[1]) const {
    terms[0] = Kernel::norm_term(x_, site, slot_);
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
  TRELLIS_SITE_FN void operator()(int site, double (&terms)[2]) const {
    Kernel::dot_term(x_, y_, site, slot_, terms[0], terms[1]);
  }

 private:
  typename Kernel::Elements x_, y_;
  int slot_;
};

template <class Layout, class Storage>
class UpdateAnyAtSite {
 public:
  using Kernel = AnyReals<Layout, Storage>;
  UpdateAnyAtSite(const UpdateCall& call, int slot)
      : x_{call.x, call.reals},
        r_{call.r, call.reals},
        p_{call.p, call.reals},
        slot_{slot},
        alpha_{call.alpha[slot]},
        beta_{call.beta[slot]} {}
  TRELLIS_SITE_FN void operator()(int site, int) const {
    using Scalar = typename Kernel::Scalar;
    Kernel::update(x_, r_, p_, Scalar(alpha_), Scalar(beta_), site, slot_);
  }

 private:
  typename Kernel::Elements x_, r_, p_;
  int slot_;
  double alpha_, beta_;
};

}  // namespace trellis
