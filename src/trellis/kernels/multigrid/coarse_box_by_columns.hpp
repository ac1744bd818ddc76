#pragma once
/// Dense matrices act on boxes of coarse sites on CPUs, several rows in a register.
#include "trellis/kernels/multigrid/coarse_box.hpp"
#include "trellis/kernels/multigrid/coarse_hop_by_columns.hpp"

namespace trellis {

template <class Layout, class Storage>
class CoarseBoxByColumns {
 public:
  explicit CoarseBoxByColumns(const CoarseBoxCall& call)
      : call_{call},
        in_{call.in, 4 * call.vectors},
        out_{call.out, 4 * call.vectors},
        columns_{call.rows()} {}

  void operator()(int box) const {
    alignas(64) Storage x[most_box_reals], y[most_box_reals];
    const int of_site = 4 * call_.vectors, reals = columns_.reals();
    const int32_t* sites = call_.sites + size_t(box) * size_t(call_.sites_in_box);
    const Storage* matrix =
        static_cast<const Storage*>(call_.matrices) + size_t(box) * size_t(reals) * size_t(reals / 2);
    for (int r = 0; r < call_.rhs; ++r) {
      for (int s = 0; s < call_.sites_in_box; ++s)
        std::memcpy(x + s * of_site, in_.element(sites[s], 0, r, 0), size_t(of_site) * sizeof(Storage));
      std::memset(y, 0, size_t(reals) * sizeof(Storage));
      columns_.add_product(y, matrix, Storage(1), x, false);
      for (int s = 0; s < call_.sites_in_box; ++s)
        std::memcpy(out_.element(sites[s], 0, r, 0), y + s * of_site, size_t(of_site) * sizeof(Storage));
    }
  }

 private:
  CoarseBoxCall call_;
  SiteElements<Layout, Storage> in_, out_;
  CoarseColumns<Storage> columns_;
};

}  // namespace trellis
