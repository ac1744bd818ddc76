/// A block of a hop reads what its lines name (kernels/dirac/*_hop_lines.hpp): from that, its neighbours in x
/// and the ghosts alone, with NaN in all other places, it comes out with the same bits.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "trellis/kernels/dirac/staggered_hop_lines.hpp"
#include "trellis/kernels/dirac/wilson_hop_lines.hpp"
#include "trellis/lattice/hop_stencil.hpp"

namespace trellis {
namespace in_test_hop_lines {

constexpr int W = 4;
using Layout = CpuLayout<W>;
struct alignas(64) Line {
  double x[2 * W];
};

/// This class holds fields of numbers, and twins of them, which are NaN but where they were copied.
class Fields {
 public:
  /// Fields are added one after the other, and lie where they stay once the last one is there.
  void add(RawField& raw, int reals, int blocks, int slots) {
    const size_t begin = numbers_.size();
    numbers_.resize(begin + size_t(blocks) * size_t(slots) * size_t(reals) / 2);
    for (size_t i = begin; i < numbers_.size(); ++i)
      for (int k = 0; k < 2 * W; ++k) numbers_[i].x[k] = 0.1 + double((37 * i + 11 * size_t(k)) % 101) / 101;
    raw.slots = slots;
    fields_.push_back({&raw, begin, numbers_.size()});
    for (const Field& field : fields_) field.raw->data = &numbers_[field.begin];
  }
  void forget_twins() {
    Line nothing;
    std::fill_n(nothing.x, 2 * W, std::numeric_limits<double>::quiet_NaN());
    twins_.assign(numbers_.size(), nothing);
  }
  void* twin_of(const void* data) { return reinterpret_cast<char*>(twins_.data()) + offset(data); }
  void copy(const void* data, size_t size) {
    bool is_inside = false;
    for (const Field& field : fields_)
      is_inside = is_inside || (offset(data) >= field.begin * sizeof(Line) &&
                                offset(data) + size <= field.end * sizeof(Line));
    ASSERT_TRUE(is_inside) << "of a field";
    std::memcpy(twin_of(data), data, size);
  }
  void copy(const RawField& raw) {
    for (const Field& field : fields_)
      if (field.raw == &raw) copy(raw.data, (field.end - field.begin) * sizeof(Line));
  }

 private:
  struct Field {
    RawField* raw;
    size_t begin, end;
  };
  size_t offset(const void* data) const {
    return size_t(static_cast<const char*>(data) - reinterpret_cast<const char*>(numbers_.data()));
  }
  std::vector<Line> numbers_, twins_;
  std::vector<Field> fields_;
};

std::vector<RawField*> ghosts_of(WilsonHopCall& call) {
  std::vector<RawField*> ghosts;
  for (RawField& ghost : call.ghosts) ghosts.push_back(&ghost);
  return ghosts;
}
std::vector<RawField*> ghosts_of(StaggeredHopCall& call) {
  std::vector<RawField*> ghosts;
  for (HopPart* part : {&call.near, &call.far})
    for (RawField& ghost : part->ghosts) ghosts.push_back(&ghost);
  return ghosts;
}
std::vector<RawField*> others_of(WilsonHopCall& call) {
  return {&call.links_here, &call.links_there, &call.in, &call.out, &call.x, &call.clover};
}
std::vector<RawField*> others_of(StaggeredHopCall& call) {
  return {&call.near.links_here,
          &call.near.links_there,
          &call.far.links_here,
          &call.far.links_there,
          &call.in,
          &call.out,
          &call.x};
}
/// Makes the same call on the twins of its fields.
template <class Call>
Call call_of_twins(Call call, Fields& fields) {
  for (const auto& some : {ghosts_of(call), others_of(call)})
    for (RawField* field : some) field->data = fields.twin_of(field->data);
  return call;
}

/// Computes all blocks, then each of them again on twins that hold what its lines name.
/// @param neighbours_in_x (block, leg) -> block, for legs 0 and 1
template <class Kernel, class Lines, class Call, class Neighbours>
void expect_lines_suffice(Fields& fields, Call& call, int blocks, size_t bytes_of_site,
                          const Neighbours& neighbours_in_x) {
  const Kernel kernel(call);
  const Lines lines(call);
  for (int block = 0; block < blocks; ++block)
    for (int slot = 0; slot < call.slots; ++slot) kernel(block, slot);
  for (int block = 0; block < blocks; ++block) {
    fields.forget_twins();
    for (const RawField* ghost : ghosts_of(call)) fields.copy(*ghost);
    for (int leg = 0; leg < 2; ++leg)
      neighbours_in_x(block, leg, [&](int neighbour) {
        fields.copy(static_cast<char*>(call.in.data) + size_t(neighbour) * bytes_of_site, bytes_of_site);
      });
    lines.reads(block, [&](const void* data, size_t size) { fields.copy(data, size); });
    const Kernel of_twins(call_of_twins(call, fields));
    for (int slot = 0; slot < call.slots; ++slot) of_twins(block, slot);
    size_t written = 0;
    lines.writes(block, [&](const void* data, size_t size) {
      EXPECT_EQ(std::memcmp(fields.twin_of(data), data, size), 0) << "block " << block;
      written += size;
    });
    EXPECT_EQ(written, bytes_of_site);
  }
}

const struct { Coord lattice, grid; } cases[] = {{{4, 4, 4, 8}, {1, 1, 1, 1}}, {{4, 4, 8, 16}, {1, 1, 1, 2}}};

TEST(HopLines, a_wilson_hop_needs_nothing_else) {
  for (const auto& [lattice, grid] : cases)
    for (const int slots : {1, 2}) {
      const SiteLayout layout(Geometry(lattice, ProcessGrid(grid)), W);
      const int blocks = layout.blocks();
      Fields fields;
      WilsonHopCall call;
      call.slots = slots;
      call.stencil.table = layout.neighbours(0).data();
      for (int leg = 0; leg < legs; ++leg)
        call.stencil.legs[leg].permutation = layout.permutes(leg) ? layout.permutation(leg) : nullptr;
      for (RawField* links : {&call.links_here, &call.links_there}) {
        fields.add(*links, 18, blocks, 4);
        links->blocks = blocks;
      }
      for (RawField* spinors : {&call.in, &call.out, &call.x}) fields.add(*spinors, 24, blocks, slots);
      fields.add(call.clover, 72, blocks, 1);
      for (RawField* ghost : ghosts_of(call)) fields.add(*ghost, 12, blocks, slots);
      call.x_term = SiteTerm::chiral_scalar;
      call.x_scalar[0] = 0.5;
      call.hop_term = SiteTerm::clover;
      expect_lines_suffice<WilsonHop<Layout, double, 18>, WilsonHopLines<Layout, double, 18>>(
          fields, call, blocks, size_t(slots) * 24 * W * sizeof(double),
          [&](int block, int leg, const auto& f) {
            f(call.stencil.table[block * 8 + leg] >> SiteLayout::index_shift);
          });
    }
}

/// The parameter link_slots is 4, or 8 where the links that lead to a site lie beside its own.
template <int FarReals>
void expect_staggered_lines_suffice(const Coord& lattice, const Coord& grid, int slots, int link_slots) {
  const auto layout = std::make_shared<const SiteLayout>(Geometry(lattice, ProcessGrid(grid)), W);
  const int blocks = layout->blocks();
  const HopStencil near(layout, 1), far(layout, 3);
  const std::vector<int32_t> unit(size_t(blocks) * 8, 0);
  alignas(64) const double one[2 * W] = {1, 1, 1, 1};
  Fields fields;
  StaggeredHopCall call;
  call.slots = slots;
  call.x_scalar = 0.5;
  const auto add_part = [&](HopPart& part, const HopStencil& stencil, int reals) {
    part.stencil = {stencil.table(0).data(), stencil.permutations()};
    part.phases = {unit.data(), one};
    part.link_reals = reals;
    for (RawField* links : {&part.links_here, &part.links_there}) {
      fields.add(*links, reals, blocks, link_slots);
      links->blocks = link_slots == 4 ? blocks : 0;
    }
    for (RawField& ghost : part.ghosts) fields.add(ghost, 6, blocks, slots);
  };
  add_part(call.near, near, 18);
  add_part(call.far, far, FarReals == 0 ? 18 : FarReals);
  for (RawField* vectors : {&call.in, &call.out, &call.x}) fields.add(*vectors, 6, blocks, slots);
  expect_lines_suffice<StaggeredHop<Layout, double, 18, FarReals>,
                       StaggeredHopLines<Layout, double, 18, FarReals>>(
      fields, call, blocks, size_t(slots) * 6 * W * sizeof(double), [&](int block, int leg, const auto& f) {
        for (const HopPart* part : {&call.near, &call.far})
          f(part->stencil.table[block * 8 + leg] >> HopStencil::index_shift);
      });
}

TEST(HopLines, a_staggered_hop_needs_nothing_else) {
  for (const auto& [lattice, grid] : cases)
    for (const int slots : {1, 2})
      for (const int link_slots : {4, 8}) {
        expect_staggered_lines_suffice<0>(lattice, grid, slots, link_slots);
        expect_staggered_lines_suffice<14>(lattice, grid, slots, link_slots);
      }
}

}  // namespace in_test_hop_lines
}  // namespace trellis
