#include "trellis/field/host_conversion.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {

constexpr int largest_site = 72, largest_lanes = 16;

/// Where the sites of a target block stand in the source: block and lane of each target lane.
struct Origin {
  int block[largest_lanes], lane[largest_lanes];
};

Origin origin_of(const SiteLayout& to, const SiteLayout& from, int parity, int block) {
  Origin origin;
  for (int lane = 0; lane < to.lanes(); ++lane) {
    const SitePosition target{parity, block, lane};
    const SitePosition at = &to == &from ? target : from.position(to.coord(target));
    origin.block[lane] = at.block;
    origin.lane[lane] = at.lane;
  }
  return origin;
}

/// Stored elements of one target block, one right-hand side, as [component][lane] of Compute.
template <class Element, class Compute>
void gather(Compute* out, int to_lanes, const RawField& in, const Origin& origin, int slot, int n,
            int from_lanes) {
  for (int lane = 0; lane < to_lanes; ++lane) {
    const size_t site = size_t(origin.block[lane]) * in.slots + slot;
    const Element* p = static_cast<const Element*>(in.data) + site * n * from_lanes + origin.lane[lane];
    if constexpr (std::is_same_v<Element, int16_t>) {
      const float unit = in.scale[site * from_lanes + origin.lane[lane]] * fixed_point_unit;
      for (int i = 0; i < n; ++i) out[i * to_lanes + lane] = unit * float(p[i * from_lanes]);
    } else {
      for (int i = 0; i < n; ++i) out[i * to_lanes + lane] = Compute(p[i * from_lanes]);
    }
  }
}

template <class Compute>
void gather(Compute* out, int to_lanes, const SpinorField& in, const RawField& raw, const Origin& origin,
            int slot) {
  const int n = in.reals(), lanes = in.layout().lanes();
  switch (in.precision()) {
    case Precision::double_precision:
      return gather<double>(out, to_lanes, raw, origin, slot, n, lanes);
    case Precision::single_precision:
      return gather<float>(out, to_lanes, raw, origin, slot, n, lanes);
    case Precision::half_precision:
      return gather<int16_t>(out, to_lanes, raw, origin, slot, n, lanes);
  }
}

/// 16-bit fixed point from floats [component][lane], with the scales that SiteArray::store() would give.
template <int lanes>
void quantise(int16_t* out, float* scale, const float* in, int n) {
  float largest[lanes] = {}, inverse[lanes];
  for (int i = 0; i < n; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      largest[lane] = maximum(largest[lane], absolute(in[i * lanes + lane]));
  for (int lane = 0; lane < lanes; ++lane) {
    scale[lane] = largest[lane];
    inverse[lane] = 32767.0f / maximum(largest[lane], 1e-37f);
  }
  for (int i = 0; i < n; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      store_fixed(out + i * lanes + lane, inverse[lane] * in[i * lanes + lane]);
}

void quantise(int16_t* out, float* scale, const float* in, int n, int lanes) {
  if (lanes == 16) return quantise<16>(out, scale, in, n);
  if (lanes == 8) return quantise<8>(out, scale, in, n);
  if (lanes == 4) return quantise<4>(out, scale, in, n);
  TRELLIS_REQUIRE(lanes == 1, "no conversion to ", lanes, " lanes");
  quantise<1>(out, scale, in, n);
}

void convert_block(SpinorField& out, const RawField& to, const SpinorField& in, const RawField& from,
                   int parity, int block) {
  const int n = out.reals(), lanes = out.layout().lanes();
  const Origin origin = origin_of(out.layout(), in.layout(), parity, block);
  for (int slot = 0; slot < out.rhs(); ++slot) {
    const size_t first = (size_t(block) * to.slots + slot) * lanes;
    switch (out.precision()) {
      case Precision::double_precision:
        gather(static_cast<double*>(to.data) + first * n, lanes, in, from, origin, slot);
        break;
      case Precision::single_precision:
        gather(static_cast<float*>(to.data) + first * n, lanes, in, from, origin, slot);
        break;
      case Precision::half_precision: {
        alignas(64) float reals[largest_site * largest_lanes];
        gather(reals, lanes, in, from, origin, slot);
        quantise(static_cast<int16_t*>(to.data) + first * n, to.scale + first, reals, n, lanes);
      }
    }
  }
}

/// Any layout: site by site.
void convert_sites(SpinorField& out, const SpinorField& in, int parity, int block) {
  const Origin origin = origin_of(out.layout(), in.layout(), parity, block);
  double reals[largest_site];
  for (int lane = 0; lane < out.layout().lanes(); ++lane)
    for (int rhs = 0; rhs < out.rhs(); ++rhs) {
      in.get_site({parity, origin.block[lane], origin.lane[lane]}, rhs, reals);
      out.set_site({parity, block, lane}, rhs, reals);
    }
}

}  // namespace

void convert_on_host(SpinorField& out, const SpinorField& in) {
  TRELLIS_REQUIRE(out.lattice_ptr() == in.lattice_ptr() && out.subset() == in.subset() &&
                      out.rhs() == in.rhs() && out.reals() == in.reals(),
                  "convert: fields differ in lattice, subset or number of right-hand sides");
  TRELLIS_REQUIRE(out.spec().backend != Backend::cuda && in.spec().backend != Backend::cuda,
                  "convert_on_host: a field is on the GPU");
  const bool has_blocks = out.spec().backend == Backend::cpu && in.spec().backend == Backend::cpu;
  for (int parity = first_parity(out.subset()); parity <= last_parity(out.subset()); ++parity) {
    const RawField to = out.raw(parity), from = in.raw(parity);
    for_each_index(out.layout().blocks(), [&](int block) {
      if (has_blocks)
        convert_block(out, to, in, from, parity, block);
      else
        convert_sites(out, in, parity, block);
    });
  }
}

}  // namespace trellis
