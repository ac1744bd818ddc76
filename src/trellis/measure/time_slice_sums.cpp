#include "trellis/measure/time_slice_sums.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_device.hpp"
#include "trellis/kernels/contract/partial_sums.hpp"
#include "trellis/kernels/contract/slice_sums.hpp"

namespace trellis {

namespace {
/// Calls f(begin, end) for parts of [0, count), in parallel where there are several.
template <class F>
void for_each_part(size_t count, const F& f) {
  constexpr size_t part = 512;
  for_each_index(int((count + part - 1) / part),
                 [&](int i) { f(size_t(i) * part, std::min(count, size_t(i + 1) * part)); });
}

/// It walks through chunks of blocks that have one parity and one sub-lattice time, with buffers for them on
/// the host.
class Chunks {
 public:
  Chunks(const SpinorField& quark, int components, int momenta)
      : layout_{quark.layout()},
        components_{components},
        momenta_{momenta},
        groups_{layout_.lane_extents()[3]} {
    const SiteLayout& layout = layout_;
    slice_blocks_ = layout.blocks() / layout.sub_extents()[3];
    const size_t block_bytes = size_t(components) * 2 * sizeof(double) * size_t(layout.lanes());
    const size_t chunk_bytes = launch_chunk_bytes(quark.spec().backend);
    chunk_blocks_ = int(std::clamp<size_t>(chunk_bytes / block_bytes, 1, size_t(slice_blocks_)));
    // Eight more numbers keep the rows from falling onto the same cache sets.
    stride_ = (chunk_blocks_ * sites_per_block() + 7) / 8 * 8 + 8;
    products_ = Memory(size_t(components) * 2 * groups_ * stride_ * sizeof(double));
    phases_ = Memory(size_t(momenta) * 2 * groups_ * stride_ * sizeof(double));
  }

  /// Adds the time slices lane group * sub-lattice extent + sub_time, both parities, to sums as
  /// [group][momentum][component][2]. All ranks have as many chunks, and may stop before each.
  void add(int sub_time, const MomentumPhases& phases, const ProductWriter& write_products, ExactSum* sums,
           Communicator& communicator) {
    const int first = sub_time * slice_blocks_, last = first + slice_blocks_;
    for (int parity = 0; parity < 2; ++parity)
      for (int begin = first; begin < last; begin += chunk_blocks_) {
        stop_together(communicator);
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
        call.phases = static_cast<const double*>(phases_.data());
        call.momenta = momenta_;
        call.sums = sums;
        clear_tails(call.sites);
        launch_slice_sums(call);
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

  /// Clears what lies behind a shorter chunk: the sums of the host read rows in steps, and it counts as zero.
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
  int components_, momenta_, groups_, slice_blocks_, chunk_blocks_, stride_;
  Memory products_, phases_;
};

/// Returns this rank's sums, [local time][momentum][component][2].
std::vector<ExactSum> sums_on_host(const SpinorField& quark, int components, const MomentumPhases& phases,
                                   const ProductWriter& write_products) {
  Chunks chunks(quark, components, phases.momenta());
  const size_t per_slice = size_t(phases.momenta()) * size_t(components) * 2,
               groups = size_t(chunks.groups());
  const size_t times = size_t(quark.layout().sub_extents()[3]);
  std::vector<ExactSum> sums(per_slice * groups * times), of_groups;
  for (size_t t = 0; t < times; ++t) {
    of_groups.assign(per_slice * groups, ExactSum{});
    chunks.add(int(t), phases, write_products, of_groups.data(), quark.lattice().communicator());
    for (size_t group = 0; group < groups; ++group)
      std::copy_n(&of_groups[group * per_slice], per_slice, &sums[(group * times + t) * per_slice]);
  }
  return sums;
}

/// Does the same on a device, whose memory keeps the sums until all are complete. A chunk has some whole time
/// slices, or a part of one.
template <class Layout>
class DeviceSums {
 public:
  DeviceSums(const SpinorField& quark, int components, const MomentumPhases& phases)
      : layout_{quark.layout()},
        backend_{quark.spec().backend},
        times_{layout_.sub_extents()[3]},
        slice_sites_{layout_.blocks() / times_},
        phases_{phases, backend_} {
    TRELLIS_REQUIRE(2 * int64_t(slice_sites_) <= PartialSum::most_terms, "a time slice of a rank has ",
                    2 * int64_t(slice_sites_), " sites; sums on a GPU take at most ", PartialSum::most_terms);
    const int64_t site_bytes = int64_t(components) * 2 * int64_t(sizeof(double)),
                  chunk_bytes = int64_t(launch_chunk_bytes(backend_));
    chunk_times_ = int(std::clamp<int64_t>(chunk_bytes / (site_bytes * slice_sites_), 1, times_));
    const int64_t cuts = std::max<int64_t>(1, (site_bytes * slice_sites_ + chunk_bytes - 1) / chunk_bytes);
    chunk_sites_ = int((slice_sites_ + cuts - 1) / cuts);
    call_.components = components;
    call_.momenta = phases.momenta();
    call_.slices = chunk_times_;
    call_.pieces = pieces(call_);
    allocate(site_bytes);
  }

  /// Returns the sums of all slices as PartialSum [local time][row] in memory of the host.
  Memory sums(Communicator& communicator, const ProductWriter& write_products) {
    for (int first = 0; first < times_; first += chunk_times_) {
      stop_together(communicator);
      add_times(first, std::min(chunk_times_, times_ - first), write_products);
    }
    Memory found = Memory::to_be_written(totals_.bytes(), Backend{});
    totals_.copy_to_host(found.data(), totals_.bytes());
    return found;
  }

 private:
  /// Returns the pieces that fill a GPU with threads.
  static int pieces(const PartialSumsCall& call) {
    constexpr int64_t enough_threads = 65536;
    int pieces = pieces_a_merge;
    while (pieces < 512 && int64_t(pieces) * call.components * call.slices * call.passes() < enough_threads)
      pieces *= 2;
    return pieces;
  }

  void allocate(int64_t site_bytes) {
    const size_t sites = size_t(std::max(chunk_sites_, chunk_times_ * slice_sites_));
    products_ = Memory::to_be_written(size_t(site_bytes) * sites, backend_);
    partials_ = Memory::to_be_written(call_.partial_count() * sizeof(PartialSum), backend_);
    totals_ = Memory::to_be_written(size_t(times_) * size_t(call_.rows()) * sizeof(PartialSum), backend_);
    const size_t bytes_a_site = size_t(call_.momenta) * 2 * sizeof(double);
    const bool do_all_fit = bytes_a_site * size_t(slice_sites_) <= most_bytes_of_phases;
    phase_sites_ = do_all_fit ? slice_sites_ : chunk_sites_;
    for (Memory& memory : site_phases_)
      memory = Memory::to_be_written(bytes_a_site * size_t(phase_sites_), backend_);
    call_.products = static_cast<const double*>(products_.data());
    call_.partials = static_cast<PartialSum*>(partials_.data());
  }

  void add_times(int first, int count, const ProductWriter& write_products) {
    call_.slices = count;
    call_.is_first = true;
    const int begin = first * slice_sites_, end = (first + count) * slice_sites_;
    const int step = count > 1 ? end - begin : chunk_sites_;
    for (int site = begin; site < end; site += step) {
      SiteRange sites(std::min(site + step, end));
      sites.begin = site;
      call_.slice_sites = sites.size() / count;
      fill_phases(site - begin);
      for (int parity = 0; parity < 2; ++parity) {
        write_products(parity, sites, {static_cast<double*>(products_.data()), 1, 0, call_.components});
        for (int next = 0; next < 2; ++next)
          call_.phases[next] = phases(parity ^ ((first + next) & 1), site - begin);
        launch_partial_sums<Layout>(call_);
        call_.is_first = false;
      }
    }
    launch_merge_partials<Layout>(
        call_, static_cast<PartialSum*>(totals_.data()) + size_t(first) * size_t(call_.rows()));
  }

  /// Fills in the phases of the sites of a slice from `begin` on, if they are not there. The sites of a
  /// parity lie in slices of even times as those of the other one do in slices of odd times.
  void fill_phases(int begin) {
    const int end = std::min(begin + phase_sites_, slice_sites_);
    if (begin >= first_phase_ && begin + call_.slice_sites <= end_phase_) return;
    first_phase_ = begin;
    end_phase_ = end;
    SiteRange sites(end);
    sites.begin = begin;
    for (int parity = 0; parity < 2; ++parity)
      launch_site_phases<Layout>({phases_.table(), SiteCoordinates(layout_.geometry(), parity),
                                  static_cast<double*>(site_phases_[parity].data()), begin, call_.momenta},
                                 sites);
  }
  const double* phases(int parity, int begin) const {
    return static_cast<const double*>(site_phases_[parity].data()) +
           size_t(begin - first_phase_) * size_t(call_.momenta) * 2;
  }

  static constexpr size_t most_bytes_of_phases = size_t(64) << 20;
  const SiteLayout& layout_;
  Backend backend_;
  int times_, slice_sites_, chunk_sites_, chunk_times_, phase_sites_ = 0;
  int first_phase_ = 0, end_phase_ = 0;  ///< sites of a slice whose phases are there
  DevicePhases phases_;
  Memory products_, partials_, totals_, site_phases_[2];
  PartialSumsCall call_;
};

/// It has this rank's sums, [local time][momentum][component][re, im].
class SumsOfRank {
 public:
  SumsOfRank(const SpinorField& quark, int components, const MomentumPhases& phases,
             const ProductWriter& write_products) {
    const bool is_done = on_device(quark.spec().backend, [&]<class Layout>() {
      DeviceSums<Layout> all(quark, components, phases);
      of_device_ = all.sums(quark.lattice().communicator(), write_products);
    });
    if (!is_done) of_host_ = sums_on_host(quark, components, phases, write_products);
  }
  size_t count() const { return of_host_.size() + of_device_.bytes() / sizeof(PartialSum); }
  /// Copies sums [first, first + count) to `to`.
  void copy(size_t first, size_t count, ExactSum* to) const {
    if (!of_host_.empty()) {
      std::copy_n(&of_host_[first], count, to);
      return;
    }
    const PartialSum* from = static_cast<const PartialSum*>(of_device_.data()) + first;
    for_each_part(count, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) to[i] = from[i].sum();
    });
  }

 private:
  std::vector<ExactSum> of_host_;
  Memory of_device_;  ///< it has a PartialSum for each
};

}  // namespace

std::vector<ExactSum> slice_sums_of_rank(const SpinorField& quark, int components,
                                         const MomentumPhases& phases, const ProductWriter& write_products) {
  const SumsOfRank found(quark, components, phases, write_products);
  std::vector<ExactSum> sums(found.count());
  found.copy(0, sums.size(), sums.data());
  return sums;
}

CorrelatorTable time_slice_sums(const SpinorField& quark, int components, const Momenta& momenta,
                                const Coord& origin, const ProductWriter& write_products) {
  TRELLIS_REQUIRE(!momenta.empty(), "no momenta");
  const Lattice& lattice = quark.lattice();
  const Geometry& g = lattice.geometry();
  const int P = int(momenta.size()), Lt = g.lattice()[3];
  const MomentumPhases phases(g.lattice(), momenta, origin);
  const size_t per_slice = size_t(P) * components * 2;
  const SumsOfRank sums(quark, components, phases, write_products);

  CorrelatorTable table(components, P, Lt);
  std::vector<ExactSum> slice(per_slice);
  for (int t = 0; t < Lt; ++t) {
    const int local = t - g.origin()[3];
    if (local >= 0 && local < g.local()[3])
      sums.copy(size_t(local) * per_slice, per_slice, slice.data());
    else
      std::fill(slice.begin(), slice.end(), ExactSum{});
    lattice.communicator().sum(slice.data(), int(per_slice));
    stop_point();
    const int time = ((t - origin[3]) % Lt + Lt) % Lt;
    for_each_part(per_slice / 2, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const int p = int(i) / components, c = int(i) % components;
        table.at(c, p, time) = {slice[2 * i].value(), slice[2 * i + 1].value()};
      }
    });
  }
  return table;
}

size_t time_slice_sums_bytes(const Geometry& geometry, int components, int momenta) {
  const size_t sums = size_t(momenta) * components * 2 * sizeof(ExactSum) * size_t(geometry.local()[3] + 1);
  return sums + launch_chunk_bytes(Backend{}) * (1 + size_t(momenta) / size_t(components)) +
         size_t(momenta) * components * 16 * size_t(geometry.lattice()[3]);
}

}  // namespace trellis
