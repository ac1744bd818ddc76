#include "trellis/measure/time_slice_sums.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/kernel_table.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/slice_sums.hpp"

namespace trellis {

namespace {
/// A chunk of blocks that have one parity and one sub-lattice time, with buffers for it.
class Chunks {
 public:
  Chunks(const SpinorField& quark, int components, int momenta)
      : layout_{quark.layout()},
        backend_{quark.spec().backend},
        components_{components},
        momenta_{momenta},
        groups_{layout_.lane_extents()[3]} {
    const SiteLayout& layout = layout_;
    slice_blocks_ = layout.blocks() / layout.sub_extents()[3];
    const size_t block_bytes = size_t(components) * 2 * sizeof(double) * size_t(layout.lanes());
    chunk_blocks_ =
        int(std::clamp<size_t>(launch_chunk_bytes(backend_) / block_bytes, 1, size_t(slice_blocks_)));
    // 8 more keep the rows from falling onto the same cache sets
    stride_ = (chunk_blocks_ * sites_per_block() + 7) / 8 * 8 + 8;
    products_ = Memory(size_t(components) * 2 * groups_ * stride_ * sizeof(double), backend_);
    phases_ = Memory(size_t(momenta) * 2 * groups_ * stride_ * sizeof(double));
  }

  /// Adds the time slices lane group * sub-lattice extent + sub_time, both parities;
  /// [group][momentum][component][2].
  void add(int sub_time, const MomentumPhases& phases, const ProductWriter& write_products, ExactSum* sums) {
    const int first = sub_time * slice_blocks_, last = first + slice_blocks_;
    for (int parity = 0; parity < 2; ++parity)
      for (int begin = first; begin < last; begin += chunk_blocks_) {
        SiteRange blocks;
        blocks.begin = begin;
        blocks.end = std::min(begin + chunk_blocks_, last);
        fill_phases(parity, blocks, phases);
        const ProductBuffer buffer{static_cast<double*>(products_.data()), groups_, stride_};
        write_products(parity, blocks, buffer);
        SliceSumsCall call;
        call.products = buffer;
        call.components = components_;
        call.sites = blocks.size() * sites_per_block();
        const KernelTable<double> table(static_cast<const double*>(phases_.data()),
                                        phases_.bytes() / sizeof(double), backend_);
        call.phases = table.data();
        call.momenta = momenta_;
        call.sums = sums;
        dispatch_double(backend_, layout_.lanes(), [&]<class Layout, class Storage>() {
          if constexpr (!std::is_same_v<Layout, CudaLayout>) clear_tails(call.sites);
          launch_slice_sums<Layout>(call);
        });
      }
  }
  int groups() const { return groups_; }

 private:
  int sites_per_block() const { return layout_.lanes() / groups_; }

  void fill_phases(int parity, const SiteRange& blocks, const MomentumPhases& phases) {
    double* out = static_cast<double*>(phases_.data());
    const int per_block = sites_per_block();
    for_each_index(blocks.size(), [&](int n) {
      for (int lane = 0; lane < layout_.lanes(); ++lane) {
        const Coord x = layout_.geometry().to_global(layout_.coord({parity, blocks.begin + n, lane}));
        const size_t group = size_t(lane / per_block), site = size_t(n * per_block + lane % per_block);
        for (int p = 0; p < momenta_; ++p) {
          const std::complex<double> z = phases(p, x);
          out[(size_t(2 * p) * groups_ + group) * stride_ + site] = z.real();
          out[(size_t(2 * p + 1) * groups_ + group) * stride_ + site] = z.imag();
        }
      }
    });
  }

  /// The sums of the host read rows in steps: what lies behind a shorter chunk counts as zero.
  void clear_tails(int sites) {
    constexpr int step = sites_of_slice_sums;
    for (Memory* memory : {&products_, &phases_}) {
      double* data = static_cast<double*>(memory->data());
      const size_t rows = memory->bytes() / sizeof(double) / stride_;
      for (size_t row = 0; row < rows; ++row)
        for (int i = sites; i < (sites + step - 1) / step * step; ++i) data[row * stride_ + i] = 0.0;
    }
  }

  const SiteLayout& layout_;
  Backend backend_;
  int components_, momenta_, groups_, slice_blocks_, chunk_blocks_, stride_;
  Memory products_, phases_;
};
}  // namespace

CorrelatorTable time_slice_sums(const SpinorField& quark, int components, const Momenta& momenta,
                                const Coord& origin, const ProductWriter& write_products) {
  TRELLIS_REQUIRE(!momenta.empty(), "no momenta");
  const Lattice& lattice = quark.lattice();
  const Geometry& g = lattice.geometry();
  const int P = int(momenta.size()), Lt = g.lattice()[3];
  const MomentumPhases phases(g.lattice(), momenta, origin);
  Chunks chunks(quark, components, P);
  const size_t per_slice = size_t(P) * components * 2;
  const int sub_extent = quark.layout().sub_extents()[3];
  std::vector<ExactSum> sums(per_slice * g.local()[3]);  // [sub-lattice time][group][momentum][component][2]
  for (int t = 0; t < sub_extent; ++t) {
    stop_together(lattice.communicator());
    chunks.add(t, phases, write_products, &sums[size_t(t) * chunks.groups() * per_slice]);
  }

  CorrelatorTable table(components, P, Lt);
  std::vector<ExactSum> slice(per_slice);
  for (int t = 0; t < Lt; ++t) {
    const int local = t - g.origin()[3];
    if (local >= 0 && local < g.local()[3])
      std::copy_n(&sums[(size_t(local % sub_extent) * chunks.groups() + local / sub_extent) * per_slice],
                  per_slice, slice.begin());
    else
      std::fill(slice.begin(), slice.end(), ExactSum{});
    lattice.communicator().sum(slice.data(), int(per_slice));
    stop_point();
    const int time = ((t - origin[3]) % Lt + Lt) % Lt;
    for (int p = 0; p < P; ++p)
      for (int c = 0; c < components; ++c) {
        const ExactSum* s = &slice[(size_t(p) * components + c) * 2];
        table.at(c, p, time) = {s[0].value(), s[1].value()};
      }
  }
  return table;
}

size_t time_slice_sums_bytes(const Geometry& geometry, int components, int momenta) {
  const size_t sums = size_t(momenta) * components * 2 * sizeof(ExactSum) * size_t(geometry.local()[3] + 1);
  return sums + launch_chunk_bytes(Backend{}) * (1 + size_t(momenta) / size_t(components)) +
         size_t(momenta) * components * 16 * size_t(geometry.lattice()[3]);
}

}  // namespace trellis
