#include "trellis/field/single_precision.hpp"

#include "trellis/algebra/lane_functions.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/lane_conversion.hpp"
#include "trellis/field/storage/memory_layout.hpp"

namespace trellis {

namespace {
constexpr int link_rows = Nd * 18, algebra_rows = Nd * 8;

/// Copies rows of one target block's lanes; `origin` is block * from_lanes + lane of the source for each.
template <bool adds, class To, class From>
void gather(To* out, int to_lanes, const From* in, int from_lanes, int rows, const int32_t* origin) {
  for (int lane = 0; lane < to_lanes; ++lane) {
    const From* p =
        in + size_t(origin[lane] / from_lanes) * size_t(rows * from_lanes) + origin[lane] % from_lanes;
    for (int r = 0; r < rows; ++r) {
      To& target = out[r * to_lanes + lane];
      target = adds ? target + To(p[r * from_lanes]) : To(p[r * from_lanes]);
    }
  }
}

/// Makes 16 single lanes from two blocks of 8 double ones.
void narrow(float* out, const double* in, int rows, const LaneOrigin& origin) {
  const double* const first = in + size_t(origin.block[0]) * size_t(rows * 8);
  const double* const second = in + size_t(origin.block[1]) * size_t(rows * 8);
  using Eight = Lanes<double, 8>;
  for (int r = 0; r < rows; ++r)
    narrow_lanes(Eight::load(first + r * 8), Eight::load(second + r * 8), origin.place).store(out + r * 16);
}
/// Makes 8 double lanes from one block of 16 single ones.
template <bool adds>
void widen(double* out, const float* in, int rows, const LaneOrigin& origin) {
  const float* block = in + size_t(origin.block[0]) * size_t(rows * 16);
  for (int r = 0; r < rows; ++r) {
    const auto x = widen_lanes(Lanes<float, 16>::load(block + r * 16), origin.place);
    (adds ? Lanes<double, 8>::load(out + r * 8) + x : x).store(out + r * 8);
  }
}
}  // namespace

SinglePrecisionMap::Origins::Origins(const ExtendedLayout& to, const ExtendedLayout& from)
    : blocks{to.inner()}, to_lanes{to.lanes()}, from_lanes{from.lanes()} {
  places.resize(blocks.size() * size_t(to_lanes));
  for_each_index(int(blocks.size()), [&](int i) {
    for (int lane = 0; lane < to_lanes; ++lane) {
      const Coord x = to.coord(blocks[size_t(i)], lane);
      places[size_t(i) * size_t(to_lanes) + size_t(lane)] = from.block_at(x) * from_lanes + from.lane_at(x);
    }
  });
}

SinglePrecisionMap::SinglePrecisionMap(const GaugeField& U)
    : twin_of_{&U.site_tables()},
      single_lanes_{default_lanes(Precision::single_precision)},
      halo_{U.layout().width()},
      to_single_{*U.lattice().extended_layout(single_lanes_, halo_), U.layout()},
      to_double_{U.layout(), *U.lattice().extended_layout(single_lanes_, halo_)} {
  TRELLIS_REQUIRE(U.precision() == Precision::double_precision && has_lane_blocks(U.backend()),
                  "forces in single precision are computed on the CPU from links in double precision; found ",
                  name_of(U.precision()), " on the backend ", name_of(U.backend()));
}

GaugeField SinglePrecisionMap::make_single(const GaugeField& U) const {
  return GaugeField(U.lattice_ptr(), single_lanes_, halo_, U.backend(), Precision::single_precision);
}

const SinglePrecisionMap::Origins& SinglePrecisionMap::origins(Precision to, int to_lanes,
                                                               int from_lanes) const {
  const Origins& table = to == Precision::single_precision ? to_single_ : to_double_;
  TRELLIS_REQUIRE(to_lanes == table.to_lanes && from_lanes == table.from_lanes,
                  "conversion between precisions: fields of ", to_lanes, " and ", from_lanes,
                  " lanes, expected ", table.to_lanes, " and ", table.from_lanes);
  return table;
}

void SinglePrecisionMap::convert(const RawField& out, Precision to, int to_lanes, const RawField& in,
                                 int from_lanes) const {
  const Origins& table = origins(to, to_lanes, from_lanes);
  const bool narrows = to == Precision::single_precision;
  for_each_index(int(table.blocks.size()), [&](int i) {
    const int32_t* origin = &table.places[size_t(i) * size_t(to_lanes)];
    const size_t first = size_t(table.blocks[size_t(i)]) * size_t(link_rows * to_lanes);
    LaneOrigin lanes;
    if (narrows) {
      float* target = static_cast<float*>(out.data) + first;
      const double* source = static_cast<const double*>(in.data);
      if (to_lanes == 16 && from_lanes == 8 && lanes.find(origin, to_lanes, from_lanes))
        narrow(target, source, link_rows, lanes);
      else
        gather<false>(target, to_lanes, source, from_lanes, link_rows, origin);
    } else {
      double* target = static_cast<double*>(out.data) + first;
      const float* source = static_cast<const float*>(in.data);
      if (to_lanes == 8 && from_lanes == 16 && lanes.find(origin, to_lanes, from_lanes) &&
          lanes.block[0] == lanes.block[1])
        widen<false>(target, source, link_rows, lanes);
      else
        gather<false>(target, to_lanes, source, from_lanes, link_rows, origin);
    }
  });
}

void SinglePrecisionMap::convert(GaugeField& out, const GaugeField& in) const {
  TRELLIS_REQUIRE(out.lattice_ptr() == in.lattice_ptr() && out.precision() != in.precision(),
                  "conversion between precisions: fields of two lattices, or of one precision");
  convert(out.raw(), out.precision(), out.lanes(), in.raw(), in.lanes());
  out.halo_is_stale();
}

void SinglePrecisionMap::convert(LinkDerivative& out, const LinkDerivative& in) const {
  TRELLIS_REQUIRE(&out.lattice() == &in.lattice() && out.precision() != in.precision(),
                  "conversion between precisions: derivatives of two lattices, or of one precision");
  convert(out.raw(), out.precision(), out.lanes(), in.raw(), in.lanes());
  out.halo_is_stale();
}

void SinglePrecisionMap::add(AlgebraField& out, const AlgebraField& in) const {
  TRELLIS_REQUIRE(&out.lattice() == &in.lattice() && out.precision() == Precision::double_precision &&
                      in.precision() == Precision::single_precision,
                  "conversion between precisions: forces of two lattices, or not from single to double");
  const Origins& table = origins(out.precision(), out.lanes(), in.lanes());
  double* target = static_cast<double*>(out.raw().data);
  const float* source = static_cast<const float*>(in.raw().data);
  for_each_index(int(table.blocks.size()), [&](int i) {
    const int32_t* origin = &table.places[size_t(i) * size_t(table.to_lanes)];
    double* block = target + size_t(table.blocks[size_t(i)]) * size_t(algebra_rows * table.to_lanes);
    LaneOrigin lanes;
    if (table.to_lanes == 8 && table.from_lanes == 16 && lanes.find(origin, 8, 16) &&
        lanes.block[0] == lanes.block[1])
      widen<true>(block, source, algebra_rows, lanes);
    else
      gather<true>(block, table.to_lanes, source, table.from_lanes, algebra_rows, origin);
  });
}

}  // namespace trellis
