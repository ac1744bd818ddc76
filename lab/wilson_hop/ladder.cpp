/// This is the ladder of the Wilson hop: one kernel is walked in different ways, timed in turn in one
/// process. The question and the answer are in README.md beside this file.
///
///   lab_wilson_hop_ladder [--lattice X.Y.Z.T] [--precision float,fp16] [--link-reals 18,12] [--rhs 1,4]
///                         [--seconds S] [--rounds N]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "bench/options.hpp"
#include "lab/wilson_hop/grouped_hop.hpp"
#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/device/machine_speed.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/field/spinor_field.hpp"
#include "trellis/kernels/dirac/wilson_hop_lines.hpp"

namespace trellis::lab {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// Returns the best decile, which is what the kernel does when nobody else has the core.
double best(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 10];
}

/// A rung says how many blocks, or right-hand sides of a block, are computed together.
struct Rung {
  std::string name;
  enum { one_by_one, by_spin, blocks, read_ahead, right_hand_sides } what;
  int count = 1;
};

std::vector<Rung> rungs_for(int slots) {
  std::vector<Rung> rungs = {{"one by one", Rung::one_by_one}, {"spin by spin", Rung::by_spin}};
  for (const int n : {1, 4, 8})
    if (slots == 1) rungs.push_back({"blocks by " + std::to_string(n), Rung::blocks, n});
  for (const int n : {1, 4, 8}) rungs.push_back({"read ahead by " + std::to_string(n), Rung::read_ahead, n});
  for (const int n : {1, 2, 4, 6})
    if (n <= slots && slots > 1)
      rungs.push_back({"right-hand sides by " + std::to_string(n), Rung::right_hand_sides, n});
  return rungs;
}

/// Registers hold so many lanes (base/precision.cpp); other lanes take minutes to compile.
#ifdef __AVX512F__
constexpr int lanes_in_double = 8, lanes_otherwise = 16;
#else
constexpr int lanes_in_double = 4, lanes_otherwise = 8;
#endif

template <class Storage, int W, int LinkReals>
class Ladder {
 public:
  using Hop = WilsonHop<CpuLayout<W>, Storage, LinkReals>;
  using Lines = WilsonHopLines<CpuLayout<W>, Storage, LinkReals>;
  using Grouped = GroupedHop<CpuLayout<W>, Storage, LinkReals>;

  /// `near` does 8 inner blocks again and again (caches), and else D_oe and D_eo take the whole lattice in
  /// turn.
  Ladder(const GaugeField& U, Precision precision, int slots, bool near)
      : slots_{slots},
        near_{near},
        links_{U, precision, LinkReals, Backend::cpu, W},
        in_{field(precision)},
        out_{SpinorField::like(in_)} {
    std::vector<double> reals(size_t(in_.geometry().local_volume()) * 24);
    for (int slot = 0; slot < slots; ++slot) {
      for (size_t i = 0; i < reals.size(); ++i) reals[i] = std::sin(1.0 + 0.37 * double(i % 100003) + slot);
      in_.from_canonical(reals.data(), slot);
    }
    const SiteLayout& layout = links_.layout();
    for (int block = 0; block < layout.blocks() && !(near && list_.size() == 8); ++block)
      if (!near || is_inside(block)) list_.push_back(block);
    for (int parity = 0; parity < 2; ++parity) {
      hops_.push_back(Hop(call(parity)));
      lines_.push_back(Lines(call(parity)));
      grouped_.push_back(Grouped(call(parity)));
    }
  }

  double flops() const { return double(list_.size()) * W * slots_ * wilson_hop_flops * (near_ ? 1 : 2); }
  const SpinorField& out() const { return out_; }

  void run(const Rung& rung) const {
    if (!near_) walk(1, rung);
    walk(0, rung);
  }

 private:
  SpinorField field(Precision precision) const {
    FieldSpec spec;
    spec.precision = precision;
    spec.rhs = slots_;
    spec.lanes = W;
    return SpinorField(links_.lattice_ptr(), spec);
  }
  bool is_inside(int block) const {
    for (int leg = 0; leg < legs; ++leg)
      if (links_.layout().neighbours(0)[size_t(block) * 8 + size_t(leg)] & 3) return false;
    return true;
  }
  WilsonHopCall call(int parity) {
    const SiteLayout& layout = links_.layout();
    WilsonHopCall c;
    c.stencil.table = layout.neighbours(parity).data();
    for (int leg = 0; leg < legs; ++leg)
      c.stencil.legs[leg].permutation = layout.permutes(leg) ? layout.permutation(leg) : nullptr;
    c.links_here = links_.raw(parity);
    c.links_there = links_.raw(1 - parity);
    c.link_reals = LinkReals;
    c.in = in_.raw(1 - parity);
    c.out = out_.raw(parity);
    c.slots = slots_;
    return c;
  }
  void walk(int parity, const Rung& rung) const {
    switch (rung.what) {
      case Rung::one_by_one:
        return walk_single(hops_[size_t(parity)]);
      case Rung::by_spin:
        return walk_spins(grouped_[size_t(parity)]);
      case Rung::blocks:
        return walk_blocks(grouped_[size_t(parity)], rung.count);
      case Rung::read_ahead:
        return walk_read_ahead(hops_[size_t(parity)], lines_[size_t(parity)], rung.count);
      case Rung::right_hand_sides:
        return walk_slots(grouped_[size_t(parity)], rung.count);
    }
  }
  __attribute__((noinline)) void walk_single(const Hop& hop) const {
    for (const int32_t block : list_)
      for (int slot = 0; slot < slots_; ++slot) hop(block, slot);
  }
  __attribute__((noinline)) void walk_spins(const Grouped& hop) const {
    for (const int32_t block : list_)
      for (int slot = 0; slot < slots_; ++slot) hop.by_spin(block, slot);
  }
  __attribute__((noinline)) void walk_blocks(const Grouped& hop, int n) const {
    for (size_t i = 0; i < list_.size(); i += size_t(n))
      hop.blocks(list_.data() + i, int(std::min(size_t(n), list_.size() - i)), 0);
  }
  /// Walks as device/cpu/walk/read_ahead.hpp does.
  __attribute__((noinline)) void walk_read_ahead(const Hop& hop, const Lines& lines, int n) const {
    for (size_t first = 0; first < list_.size(); first += size_t(n)) {
      const size_t last = std::min(first + size_t(n), list_.size());
      for (size_t i = first; i < last; ++i) {
        lines.reads(list_[i], cpu::read_lines);
        lines.writes(list_[i], cpu::claim_lines);
      }
      for (size_t i = first; i < last; ++i)
        for (int slot = 0; slot < slots_; ++slot) hop(list_[i], slot);
    }
  }
  __attribute__((noinline)) void walk_slots(const Grouped& hop, int n) const {
    for (const int32_t block : list_)
      for (int slot = 0; slot < slots_; slot += n) hop.slots(block, slot, std::min(n, slots_ - slot));
  }

  int slots_;
  bool near_;
  HopLinks links_;
  SpinorField in_, out_;
  std::vector<int32_t> list_;
  std::vector<Hop> hops_;         // the index is the parity
  std::vector<Lines> lines_;      // the index is the parity
  std::vector<Grouped> grouped_;  // the index is the parity
};

template <class Storage, int W, int LinkReals>
void climb(const GaugeField& U, Precision precision, int slots, bool near, const bench::Options& options) {
  const Ladder<Storage, W, LinkReals> ladder(U, precision, slots, near);
  const std::vector<Rung> rungs = rungs_for(slots);
  std::vector<std::vector<double>> seconds(rungs.size());
  std::vector<double> peaks;
  ladder.run(rungs[0]);
  const SpinorField expected = ladder.out();
  for (int round = 0; round < options.rounds; ++round) {
    peaks.push_back(measure_fma_peak(precision, 1, options.seconds / 2));
    for (size_t i = 0; i < rungs.size(); ++i) {
      int calls = 0;
      const double start = now();
      do {
        ladder.run(rungs[i]);
        ++calls;
      } while (now() - start < options.seconds);
      seconds[i].push_back((now() - start) / calls);
    }
  }
  for (double& p : peaks) p = -p;
  const double peak = -best(peaks);
  std::printf("%s, %d link reals, %d right-hand sides, %s; peak %.0f GF/s\n", name_of(precision), LinkReals,
              slots, near ? "8 blocks again and again" : "whole lattice", peak * 1e-9);
  for (size_t i = 0; i < rungs.size(); ++i) {
    const double rate = ladder.flops() / best(seconds[i]);
    ladder.run(rungs[i]);
    const bool same =
        std::memcmp(ladder.out().memory().data(), expected.memory().data(), expected.bytes()) == 0;
    std::printf("  %-24s %7.2f GF/s  %.3f of peak%s\n", rungs[i].name.c_str(), rate * 1e-9, rate / peak,
                same ? "" : "  OTHER BITS");
  }
}

template <class Storage, int W>
void climb_links(const GaugeField& U, Precision precision, const bench::Options& options) {
  for (const bool near : {true, false})
    for (const int slots : options.rhs)
      for (const int link_reals : options.link_reals) {
        if (link_reals == 18) climb<Storage, W, 18>(U, precision, slots, near, options);
        if (link_reals == 12) climb<Storage, W, 12>(U, precision, slots, near, options);
      }
}

int run(int argc, char** argv) {
  bench::Options defaults;
  defaults.lattices = {{16, 16, 16, 16}};
  defaults.precisions = {Precision::double_precision, Precision::single_precision, Precision::fp16_precision};
  defaults.link_reals = {18, 12};
  defaults.rhs = {1, 4};
  defaults.seconds = 0.0005;
  defaults.rounds = 61;
  const bench::Options options = bench::parse_options(argc, argv, defaults);
  for (const Coord& extents : options.lattices) {
    GaugeField U(make_lattice(extents));
    bench::fill_random_su3(U, 1);
    for (const Precision precision : options.precisions) {
      if (precision == Precision::double_precision)
        climb_links<double, lanes_in_double>(U, precision, options);
      if (precision == Precision::single_precision)
        climb_links<float, lanes_otherwise>(U, precision, options);
      if (precision == Precision::fp16_precision) climb_links<Fp16, lanes_otherwise>(U, precision, options);
    }
  }
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) { return trellis::lab::run(argc, argv); }
