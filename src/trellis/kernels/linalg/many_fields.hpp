#pragma once
/// Products and updates of many fields take one pass, for orthogonalisation. A column w_c and a field x_j
/// have `slices` slots each (1, or the fifth dimension), with a stride of their own between sites: they may
/// be right-hand sides of larger fields.
///
///   dots:      sums[c][j] += conj(x_j) . w_c        Traffic: each field and column once.
///   subtract:  w_c -= sum_j a[c][j] x_j             Traffic: the same, and each column is written once.
///
/// The terms of an update are taken one after the other and rounded to storage once, behind the last.
#include <array>

#include "trellis/kernels/linalg/any_reals.hpp"
#include "trellis/kernels/linalg/with_norm.hpp"

namespace trellis {

struct ManyFieldsCall {
  static constexpr int largest_count = 16;
  const RawField* fields = nullptr;  ///< they are x_j, or [column][j]
  int count = 0;                     ///< it is at most largest_count
  bool has_own_fields = false;  ///< each column has fields of its own; only GPUs take several such columns
  const RawField* columns = nullptr;  ///< they are w_c
  int width = 0;
  int slices = 1, reals = 24;
  ExactSum* sums = nullptr;              ///< dots: they are [column][field][re, im]
  const double* coefficients = nullptr;  ///< subtract: they are [column][field][re, im]
  ExactSum* norms = nullptr;             ///< subtract: [column] += |w_c|^2 behind it; or null

  const RawField& field(int column, int j) const { return fields[has_own_fields ? column * count + j : j]; }
};

template <class Layout, class Storage, int N>
struct ManyFields {
  using Plain = LinearAlgebra<Layout, Storage, N>;
  using Array = typename Plain::Array;
  using Real = typename Plain::Real;
  using Scalar = typename Plain::Scalar;
  using Term = typename Plain::Term;
  static constexpr bool is_built = true;
  /// It is what subtract() leaves for the norm.
  struct Left {
    Real r[N];
  };

  static Array array(const RawField& field, int /*reals*/) { return Array(field); }
  /// Stores w - sum_j a_j x_j and leaves it; a points to (re, im) of the first field.
  TRELLIS_SITE_FN static void subtract(const Array& w, const Array* x, int count, const double* a, int block,
                                       int slot, Left& left) {
    Real(&r)[N] = left.r;
    w.load(block, slot, r);
    for (int j = 0; j < count; ++j) {
      Real s[N];
      x[j].load(block, slot, s);
      const Real re = Scalar(a[2 * j]), im = Scalar(a[2 * j + 1]);
      unroll<N / 2>([&](auto k) TRELLIS_INLINE_LAMBDA {
        constexpr int i = 2 * k;
        r[i] = fma(im, s[i + 1], fnma(re, s[i], r[i]));
        r[i + 1] = fnma(im, s[i], fnma(re, s[i + 1], r[i + 1]));
      });
    }
    w.store(block, slot, r);
  }
  /// Returns |w|^2 at a site behind subtract().
  TRELLIS_SITE_FN static Term norm_term(const Array& w, int block, int slot, const Left& left) {
    if constexpr (Array::rounds)
      return Plain::norm_term(w, block, slot);
    else
      return Plain::norm_term(left.r);
  }
};

/// N = 0 takes any even number of reals, pair by pair, but not in fixed point, whose scale needs all of a
/// site at once.
template <class Layout, class Storage>
struct ManyFields<Layout, Storage, 0> {
  using Plain = AnyReals<Layout, Storage>;
  using Array = typename Plain::Elements;
  using Real = typename Plain::Real;
  using Scalar = typename Plain::Scalar;
  using Term = typename Plain::Term;
  static constexpr bool is_built = !Array::is_half;
  struct Left {};

  static Array array(const RawField& field, int reals) { return Array(field, reals); }
  TRELLIS_SITE_FN static void subtract(const Array& w, const Array* x, int count, const double* a, int block,
                                       int slot, Left&) {
    for (int i = 0; i < w.reals(); i += 2) subtract_pair(w, x, count, a, block, slot, i);
  }
  TRELLIS_SITE_FN static void subtract_pair(const Array& w, const Array* x, int count, const double* a,
                                            int block, int slot, int i) {
    Real r[2] = {w.stored(block, slot, i), w.stored(block, slot, i + 1)};
    for (int j = 0; j < count; ++j) {
      const Real u = x[j].stored(block, slot, i), v = x[j].stored(block, slot, i + 1);
      const Real re = Scalar(a[2 * j]), im = Scalar(a[2 * j + 1]);
      r[0] = fma(im, v, fnma(re, u, r[0]));
      r[1] = fnma(im, u, fnma(re, v, r[1]));
    }
    w.store(block, slot, i, r, Real(Scalar(1)));
  }
  TRELLIS_SITE_FN static Term norm_term(const Array& w, int block, int slot, const Left&) {
    return Plain::norm_term(w, block, slot);
  }
};

/// It forms conj(x_j) . w of a few fields and one slot of one column, for devices: the fields travel by
/// value.
template <class Layout, class Storage, int N, int J>
class DotsAtSite {
 public:
  using Kernel = ManyFields<Layout, Storage, N>;
  /// Takes the fields from first_field on of a column. @pre call.fields lies on the host
  DotsAtSite(const ManyFieldsCall& call, int column, int first_field, int slot)
      : w_{Kernel::array(call.columns[column], call.reals)}, slot_{slot} {
    for (; count_ < J && first_field + count_ < call.count; ++count_)
      x_[count_] = Kernel::array(call.field(column, first_field + count_), call.reals);
  }
  TRELLIS_SITE_FN std::array<typename Kernel::Term, 2 * J> operator()(int site) const {
    std::array<typename Kernel::Term, 2 * J> terms{};
    for (int j = 0; j < J; ++j)
      if (j < count_) Kernel::Plain::dot_term(x_[j], w_, site, slot_, terms[2 * j], terms[2 * j + 1]);
    return terms;
  }

 private:
  typename Kernel::Array w_, x_[J];
  int count_ = 0, slot_;
};

/// It does the update of one slot of one column, for devices.
template <class Layout, class Storage, int N>
class SubtractAtSite {
 public:
  using Kernel = ManyFields<Layout, Storage, N>;
  SubtractAtSite(const ManyFieldsCall& call, int column, int slot)
      : w_{Kernel::array(call.columns[column], call.reals)}, count_{call.count}, slot_{slot} {
    for (int j = 0; j < count_; ++j) {
      x_[j] = Kernel::array(call.field(column, j), call.reals);
      for (int i = 0; i < 2; ++i) a_[2 * j + i] = call.coefficients[2 * (column * call.count + j) + i];
    }
  }
  TRELLIS_SITE_FN void operator()(int site) const {
    typename Kernel::Left left;
    Kernel::subtract(w_, x_, count_, a_, site, slot_, left);
  }
  /// Does the same for the pair of components i and i + 1 alone. @pre N is 0
  TRELLIS_SITE_FN void pair(int site, int i) const {
    Kernel::subtract_pair(w_, x_, count_, a_, site, slot_, i);
  }
  /// Does the same, and returns |w|^2 behind it.
  TRELLIS_SITE_FN typename Kernel::Term with_norm(int site) const {
    typename Kernel::Left left;
    Kernel::subtract(w_, x_, count_, a_, site, slot_, left);
    return Kernel::norm_term(w_, site, slot_, left);
  }

 private:
  typename Kernel::Array w_, x_[ManyFieldsCall::largest_count];
  double a_[2 * ManyFieldsCall::largest_count] = {};
  int count_, slot_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_many_dots(const ManyFieldsCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_many_subtract(const ManyFieldsCall& call, const SiteRange& sites);

}  // namespace trellis
