#pragma once
/// Dense matrices act on boxes of coarse sites: out_B = M_B in_B, on the sites of one parity of each box.
/// Rows of M_B count the sites of a box in order, and the complex numbers of a site; matrices lie by columns,
/// so that CPUs take several rows at once. GPUs have a thread for each row, with the same bits: each part of
/// a row is summed over the columns in order.
#include "trellis/kernels/multigrid/aggregate_call.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

struct CoarseBoxCall {
  const int32_t* sites = nullptr;  ///< they are [box][site of the box]: place in the field
  const void* matrices = nullptr;  ///< they are [box][column][row][re, im], in the storage of the field
  RawField in, out;                ///< both have one parity
  int sites_in_box = 1, vectors = 0, rhs = 1;

  TRELLIS_SITE_FN int rows() const { return sites_in_box * 2 * vectors; }
};

/// CPUs have room for so many reals of a box.
inline constexpr int most_box_reals = 8192;

template <class Layout, class Storage>
class CoarseBoxOfRows {
 public:
  explicit CoarseBoxOfRows(const CoarseBoxCall& call)
      : call_{call}, in_{call.in, 4 * call.vectors}, out_{call.out, 4 * call.vectors} {}

  /// The slot is right-hand side * rows + row.
  TRELLIS_SITE_FN void operator()(int box, int slot) const {
    const int rows = call_.rows(), of_site = 2 * call_.vectors, r = slot / rows, row = slot % rows;
    const int32_t* sites = call_.sites + size_t(box) * size_t(call_.sites_in_box);
    const Storage* matrix =
        static_cast<const Storage*>(call_.matrices) + size_t(box) * size_t(2 * rows) * size_t(rows) + 2 * row;
    Storage a = 0, b = 0, c = 0, d = 0;
    for (int k = 0; k < rows; ++k, matrix += 2 * rows) {
      const int site = sites[k / of_site], i = 2 * (k % of_site);
      const Storage re = matrix[0], im = matrix[1];
      const Storage x_re = *in_.element(site, 0, r, i), x_im = *in_.element(site, 0, r, i + 1);
      a = fma(re, x_re, a);
      b = fma(im, x_re, b);
      c = fma(re, x_im, c);
      d = fma(im, x_im, d);
    }
    const int site = sites[row / of_site], i = 2 * (row % of_site);
    *out_.element(site, 0, r, i) = Storage(0) + (a - d);
    *out_.element(site, 0, r, i + 1) = Storage(0) + (b + c);
  }

 private:
  CoarseBoxCall call_;
  SiteElements<Layout, Storage> in_, out_;
};

/// @pre the range counts boxes
template <class Layout, class Storage>
void launch_coarse_boxes(const CoarseBoxCall& call, const SiteRange& boxes);

}  // namespace trellis
