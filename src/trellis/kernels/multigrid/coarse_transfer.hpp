#pragma once
/// This file has the prolongator between two coarse lattices: products of its columns with fields over
/// aggregates of coarse sites, prolongation, and columns mixed aggregate by aggregate.
///
/// The columns are the right-hand sides of one coarse field. The first half of its numbers are the columns
/// of chirality +, the second half those of chirality -. Products are summed in double over sites and
/// components in a fixed order, so that no bit depends on ranks or on the layout.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/kernels/multigrid/aggregate_products.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

/// The call is out(X)[r][chirality, j] = sum_x P_j(x, chirality)^dagger right_r(x, chirality).
struct CoarseProductsCall {
  AggregateTable aggregates;
  const int32_t* subset = nullptr;  ///< these sites of an aggregate are summed over
  int subset_count = 0;
  RawField left[2], right[2];  ///< there is one for each parity; left is P
  int reals = 0;               ///< a site of both has so many
  int vectors = 0, rhs = 1;    ///< there are so many columns of P, and of right
  double* products = nullptr;  ///< they are [group][r][chirality, j][re, im], or null
  /// It is a coarser field with the products as its numbers, where `products` is null, and [group]: its block
  /// << 1 | parity.
  RawField coarser[2];
  const int32_t* places = nullptr;
};

template <class Layout, class Storage>
class CoarseProducts {
 public:
  using Elements = SiteElements<Layout, Storage>;
  static constexpr int partial = 8;  ///< so many sums go side by side

  explicit CoarseProducts(const CoarseProductsCall& call)
      : sites_{call.aggregates.sites},
        subset_{call.subset},
        places_{call.places},
        count_{call.aggregates.count},
        subset_count_{call.subset_count},
        half_{call.reals / 4},
        vectors_{call.vectors},
        rhs_{call.rhs},
        products_{call.products} {
    for (int i = 0; i < 2; ++i) {
      left_[i] = Elements(call.left[i], call.reals);
      right_[i] = Elements(call.right[i], call.reals);
      coarser_[i] = Elements(call.coarser[i], 4 * call.vectors);
    }
  }

  static int slots(int vectors, int rhs) { return 2 * vectors * rhs; }

  /// The slot is right-hand side * rows + row.
  TRELLIS_SITE_FN void operator()(int group, int slot) const {
    const int rows = 2 * vectors_, r = slot / rows, row = slot % rows;
    const int chirality = row / vectors_, column = row % vectors_, first = 2 * half_ * chirality;
    double re[partial] = {}, im[partial] = {};
    for (int s = 0; s < subset_count_; ++s) {
      const int32_t entry = sites_[size_t(group) * size_t(count_) + size_t(subset_[s])];
      const Elements &left = left_[entry & 1], &right = right_[entry & 1];
      const int place = entry >> 1, whole = half_ / partial * partial;
      for (int k = 0; k < whole; k += partial)
        for (int i = 0; i < partial; ++i)
          add(re[i], im[i], left, right, place, column, r, first + 2 * (k + i));
      for (int k = whole; k < half_; ++k)
        add(re[k - whole], im[k - whole], left, right, place, column, r, first + 2 * k);
    }
    for (int half = partial / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) {
        re[i] = re[i] + re[i + half];
        im[i] = im[i] + im[i + half];
      }
    if (products_) {
      double* p = products_ + 2 * (size_t(group) * size_t(rhs_) * size_t(rows) + size_t(slot));
      p[0] = re[0];
      p[1] = im[0];
    } else {
      const Elements& coarser = coarser_[places_[group] & 1];
      *coarser.element(places_[group] >> 1, 0, r, 2 * row) = Storage(re[0]);
      *coarser.element(places_[group] >> 1, 0, r, 2 * row + 1) = Storage(im[0]);
    }
  }

 private:
  TRELLIS_SITE_FN static void add(double& re, double& im, const Elements& left, const Elements& right,
                                  int place, int column, int r, int i) {
    const double a_re = double(*left.element(place, 0, column, i)),
                 a_im = double(*left.element(place, 0, column, i + 1)),
                 b_re = double(*right.element(place, 0, r, i)),
                 b_im = double(*right.element(place, 0, r, i + 1));
    re = fma(a_im, b_im, fma(a_re, b_re, re));
    im = fma(-a_im, b_re, fma(a_re, b_im, im));
  }

  const int32_t *sites_, *subset_, *places_;
  int count_, subset_count_, half_, vectors_, rhs_;
  double* products_;
  Elements left_[2], right_[2], coarser_[2];
};

/// The call is out_r(x, chirality) = sum_j P_j(x, chirality) in_r(X)[chirality, j], on sites of one parity.
struct CoarseProlongCall {
  /// It has for [block] that of its aggregate in the coarser field, block << 1 | parity.
  const int32_t* places = nullptr;
  RawField out, prolongator;  ///< both have one parity
  RawField in[2];
  int reals = 0;  ///< a site of out has so many
  int vectors = 0, rhs = 1;
};

/// The numbers of one chirality fall into pieces of this length.
inline constexpr int piece_of_chirality = 8;  ///< it counts complex numbers
TRELLIS_SITE_FN int pieces_of_chirality(int reals) {
  return (reals / 4 + piece_of_chirality - 1) / piece_of_chirality;
}

template <class Layout, class Storage>
class CoarseProlong {
 public:
  using Elements = SiteElements<Layout, Storage>;

  explicit CoarseProlong(const CoarseProlongCall& call)
      : places_{call.places},
        out_{call.out, call.reals},
        prolongator_{call.prolongator, call.reals},
        half_{call.reals / 4},
        pieces_{pieces_of_chirality(call.reals)},
        vectors_{call.vectors} {
    for (int i = 0; i < 2; ++i) in_[i] = Elements(call.in[i], 4 * call.vectors);
  }

  static int slots(int reals, int rhs) { return 2 * pieces_of_chirality(reals) * rhs; }

  /// The slot is (right-hand side * 2 + chirality) * pieces + piece.
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int piece = slot % pieces_, chirality = slot / pieces_ % 2, r = slot / pieces_ / 2;
    const int first = piece * piece_of_chirality, left = half_ - first;
    if (left >= piece_of_chirality)
      compute(site, r, chirality, first, piece_of_chirality);
    else
      compute(site, r, chirality, first, left);
  }

 private:
  TRELLIS_SITE_FN void compute(int site, int r, int chirality, int first, int count) const {
    const Elements& in = in_[places_[site] & 1];
    const int place = places_[site] >> 1, origin = 2 * (chirality * half_ + first);
    Storage re[piece_of_chirality] = {}, im[piece_of_chirality] = {};
    for (int j = 0; j < vectors_; ++j) {
      const Storage c_re = *in.element(place, 0, r, 2 * (chirality * vectors_ + j)),
                    c_im = *in.element(place, 0, r, 2 * (chirality * vectors_ + j) + 1);
      for (int i = 0; i < count; ++i) {
        const Storage p_re = *prolongator_.element(site, 0, j, origin + 2 * i),
                      p_im = *prolongator_.element(site, 0, j, origin + 2 * i + 1);
        re[i] = fma(-p_im, c_im, fma(p_re, c_re, re[i]));
        im[i] = fma(p_im, c_re, fma(p_re, c_im, im[i]));
      }
    }
    for (int i = 0; i < count; ++i) {
      *out_.element(site, 0, r, origin + 2 * i) = re[i];
      *out_.element(site, 0, r, origin + 2 * i + 1) = im[i];
    }
  }

  const int32_t* places_;
  Elements out_, prolongator_, in_[2];
  int half_, pieces_, vectors_;
};

struct CoarseMixCall {
  const int32_t* group_of = nullptr;  ///< [block]
  RawField field;                     ///< it has one parity; columns are right-hand sides
  int reals = 0, vectors = 0;
  /// It has [group][chirality][j][i][re, im]: new column j = sum_{i <= j} old column i times this.
  const double* matrix = nullptr;
};

/// It works in place, with sums in double.
template <class Layout, class Storage>
class CoarseMix {
 public:
  using Elements = SiteElements<Layout, Storage>;

  explicit CoarseMix(const CoarseMixCall& call)
      : group_of_{call.group_of},
        field_{call.field, call.reals},
        half_{call.reals / 4},
        vectors_{call.vectors},
        matrix_{call.matrix} {}

  static int slots(int reals) { return reals / 2; }

  /// The slot is a complex number of a site.
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    double old_re[most_vectors], old_im[most_vectors];
    for (int j = 0; j < vectors_; ++j) {
      old_re[j] = double(*field_.element(site, 0, j, 2 * slot));
      old_im[j] = double(*field_.element(site, 0, j, 2 * slot + 1));
    }
    const size_t n = size_t(vectors_);
    const double* matrix = matrix_ + 2 * (size_t(group_of_[site]) * 2 + size_t(slot / half_)) * n * n;
    for (int j = 0; j < vectors_; ++j) {
      double re = 0, im = 0;
      for (int i = 0; i <= j; ++i) {
        const double* factor = matrix + 2 * (size_t(j) * n + size_t(i));
        re = fma(-factor[1], old_im[i], fma(factor[0], old_re[i], re));
        im = fma(factor[1], old_re[i], fma(factor[0], old_im[i], im));
      }
      *field_.element(site, 0, j, 2 * slot) = Storage(re);
      *field_.element(site, 0, j, 2 * slot + 1) = Storage(im);
    }
  }

 private:
  const int32_t* group_of_;
  Elements field_;
  int half_, vectors_;
  const double* matrix_;
};

template <class Layout, class Storage>
void launch_coarse_products(const CoarseProductsCall& call, const SiteRange& groups);
template <class Layout, class Storage>
void launch_coarse_prolong(const CoarseProlongCall& call, const SiteRange& sites);
template <class Layout, class Storage>
void launch_coarse_mix(const CoarseMixCall& call, const SiteRange& sites);

}  // namespace trellis
