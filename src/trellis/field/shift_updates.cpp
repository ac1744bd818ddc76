#include "trellis/field/shift_updates.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/linalg/multi_shift_update.hpp"

namespace trellis {

void update_shifts(const std::vector<SpinorField*>& x, const std::vector<SpinorField*>& p,
                   const std::vector<const SpinorField*>& residuals,
                   const std::vector<std::vector<ShiftStep>>& steps) {
  if (x.empty()) return;
  const SpinorField& like = *x.front();
  const size_t slots = size_t(like.slots()), slices = size_t(like.slices()),
               rows = MultiShiftUpdateCall::largest_count;
  TRELLIS_REQUIRE(
      p.size() == x.size() && steps.size() == x.size() && !residuals.empty() && residuals.size() <= rows,
      "update of ", x.size(), " shifts with ", p.size(), " directions, ", steps.size(), " steps and ",
      residuals.size(), " residuals");
  std::vector<double> a(x.size() * rows * slots, 0.0), b = a;
  for (size_t k = 0; k < x.size(); ++k) {
    TRELLIS_REQUIRE(
        x[k]->spec() == like.spec() && p[k]->spec() == like.spec() && steps[k].size() == residuals.size(),
        "update of shifts: fields differ");
    for (size_t t = 0; t < residuals.size(); ++t)
      for (size_t slot = 0; slot < slots; ++slot) {
        a[(k * rows + t) * slots + slot] = steps[k][t].a[slot / slices];
        b[(k * rows + t) * slots + slot] = steps[k][t].b[slot / slices];
      }
  }
  for (int parity = first_parity(like.subset()); parity <= last_parity(like.subset()); ++parity) {
    std::vector<RawField> raw_x, raw_p;
    for (size_t k = 0; k < x.size(); ++k) {
      raw_x.push_back(x[k]->raw(parity));
      raw_p.push_back(p[k]->raw(parity));
    }
    MultiShiftUpdateCall call;
    for (size_t t = 0; t < residuals.size(); ++t) call.residuals[t] = residuals[t]->raw(parity);
    call.count = int(residuals.size());
    call.x = raw_x.data();
    call.p = raw_p.data();
    call.shifts = int(x.size());
    call.a = a.data();
    call.b = b.data();
    call.reals = like.reals();
    call.slots = like.slots();
    dispatch_unquantised(
        like.spec().backend, like.precision(), like.layout().lanes(), [&]<class Layout, class Storage>() {
          launch_multi_shift_update<Layout, Storage>(call, SiteRange(like.layout().blocks()));
        });
  }
}

}  // namespace trellis
