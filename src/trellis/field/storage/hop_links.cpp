#include "trellis/field/hop_links.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/link_compression.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/gauge/hop_link_copy.hpp"
#include "trellis/kernels/gauge/link_checks.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

namespace {
/// Returns the largest number that the check looks at, of all links of all ranks; infinity where a link is
/// not finite. Collective.
double largest_over_links(const GaugeField& U, LinkCheck check) {
  require_double(U.precision());
  double largest = 0;
  dispatch_links(U.site_tables(), [&]<class Layout, class Storage>() {
    largest = launch_link_checks<Layout, Storage>(U.raw(), check, U.site_tables().inner());
  });
  return std::sqrt(U.lattice().communicator().maximum(largest));
}

/// Returns the largest length of the rows and columns of a link (view/link_reals.hpp).
double largest_length(const Link& U) {
  ColorMatrix<double> matrix;
  for (size_t k = 0; k < 9; ++k) matrix.e[k / 3][k % 3] = {U[k].real(), U[k].imag()};
  return std::sqrt(largest_length2(matrix));
}

/// Rows and columns of links in fixed point without scales may be longer than 1 by this, and no more: sums of
/// products would leave 32 bits (algebra/fixed_point.hpp).
constexpr double length_tolerance = 1e-5;

/// Returns the largest length of a row or column, which 16-bit links have to know. @throw BadArgument if one
/// is not finite
double largest_finite_length(const GaugeField& U) {
  const double largest = largest_over_links(U, LinkCheck::length);
  if (!std::isfinite(largest))
    throw BadArgument("links hold a NaN or infinity: they cannot be stored in 16 bits");
  return largest;
}
}  // namespace

double largest_su3_violation(const GaugeField& U) { return largest_over_links(U, LinkCheck::su3); }
double largest_u3_violation(const GaugeField& U) { return largest_over_links(U, LinkCheck::u3); }

int link_reals_of(const GaugeField& U) {
  const double violation = largest_su3_violation(U);
  const bool is_rounded = violation > group_tolerance(Precision::double_precision) &&
                          violation <= group_tolerance(Precision::single_precision);
  return is_rounded ? 18 : 12;
}

HopLinks::HopLinks(const GaugeField& links, Precision precision, int link_reals, Backend backend, int lanes,
                   int back_distance)
    : lattice_{links.lattice_ptr()},
      precision_{precision},
      backend_{backend},
      link_reals_{link_reals},
      back_distance_{backend == Backend::cpu ? back_distance : 0} {
  require_all_directions(lattice_->geometry(), "a quark operator");
  if (backend == Backend::cuda) cuda::require_gpu();  // this comes before the links are copied there
  std::optional<GaugeField> image;
  if ((links.backend() == Backend::cuda) != (backend == Backend::cuda))
    image = links.on(backend == Backend::cuda ? backend : Backend::cpu);
  const GaugeField& U = image ? *image : links;
  require_link_reals(link_reals);
  TRELLIS_REQUIRE(has_link_storage(precision, link_reals),
                  "links of 8 reals are not kept in fp16, whose rounding their exponential would magnify: "
                  "18, 14 or 12");
  if (link_reals != 18) {
    const double worst = link_reals == 14 ? largest_u3_violation(U) : largest_su3_violation(U);
    const double allowed = group_tolerance(precision);
    if (std::isinf(worst))
      throw BadArgument(
          message("links hold a NaN or infinity: they cannot be stored as ", link_reals, " reals"));
    if (worst > allowed)
      throw BadArgument(message("links violate ", link_reals == 14 ? "U(3)" : "SU(3)", " by ", worst,
                                " (allowed ", allowed, "): they cannot be stored as ", link_reals,
                                " reals; link_reals = 18 takes them as they are"));
  }
  if (backend != Backend::cpu) lanes = 1;
  layout_ = lattice_->layout(lanes == 0 ? default_lanes(precision) : lanes);
  const double largest = is_16_bit(precision) && link_reals != 8 ? largest_finite_length(U) : 0;
  const int blocks = backend == Backend::cpu ? layout_->blocks() : (layout_->blocks() + 31) / 32 * 32;
  const size_t sites = size_t(blocks) * layout_->lanes();
  data_bytes_ = (sites * slots() * link_reals * element_bytes(precision) + 63) / 64 * 64;
  scale_bytes_ = largest > 1.0 + length_tolerance
                     ? (sites * slots() * trellis::scale_bytes(precision) + 63) / 64 * 64
                     : 0;
  memory_ =
      Memory(2 * (data_bytes_ + scale_bytes_), backend == Backend::gpu_emulated ? Backend::cpu : backend);
  fill(U);
}

RawField HopLinks::raw(int parity) const {
  char* p =
      const_cast<char*>(static_cast<const char*>(memory_.data())) + parity * (data_bytes_ + scale_bytes_);
  return {p, scale_bytes_ > 0 ? reinterpret_cast<float*>(p + data_bytes_) : nullptr, slots(),
          backend_ == Backend::cpu && back_distance_ == 0 ? layout_->blocks() : 0};
}

std::vector<BlockStream> HopLinks::streams() const {
  const size_t link_bytes = size_t(link_reals_) * size_t(layout_->lanes()) * element_bytes(precision_);
  std::vector<BlockStream> streams;
  for (int parity = 0; parity < 2; ++parity) {
    const char* data = static_cast<const char*>(raw(parity).data);
    if (back_distance_ != 0) {
      streams.push_back({data, size_t(slots()) * link_bytes});
    } else {
      streams.push_back({data, 3 * link_bytes});
      streams.push_back({data + record(0, 3) * link_bytes, link_bytes});
    }
  }
  return streams;
}

std::optional<Coord> HopLinks::origin(Coord x, int slot) const {
  if (slot < Nd) return x;
  const Geometry& geometry = lattice_->geometry();
  const int mu = slot - Nd, extent = geometry.local()[mu];
  x[mu] -= back_distance_;
  if (x[mu] < 0) {
    if (geometry.grid().extents()[mu] > 1) return std::nullopt;
    x[mu] = (x[mu] % extent + extent) % extent;
  }
  return x;
}

void HopLinks::build_origins(const ExtendedLayout& from) {
  const int W = layout_->lanes(), n = slots() - Nd + 1;  // those of a block itself lie together
  for (int parity = 0; parity < 2; ++parity) {
    origins_[parity].resize(size_t(layout_->blocks()) * size_t(n * W));
    for_each_index(layout_->blocks(), [&](int block) {
      int32_t* to = &origins_[parity][size_t(block) * size_t(n * W)];
      for (int slot = Nd - 1; slot < slots(); ++slot)
        for (int lane = 0; lane < W; ++lane) {
          const std::optional<Coord> x = origin(layout_->coord({parity, block, lane}), slot);
          *to++ = x ? int32_t(from.block_at(*x) * from.lanes() + from.lane_at(*x)) : not_here;
        }
    });
  }
}

namespace {
template <class Element>
Element stored(double x) {
  return Element(float(x));
}
template <>
double stored(double x) {
  return x;
}
}  // namespace

/// Fills links in the CPU layout, without scales. It copies all reals of a block and gathers lanes from the
/// order of U.
template <class Element>
void HopLinks::fill_blocks(const GaugeField& U) {
  require_double(U.precision());
  const int W = layout_->lanes(), from_lanes = U.lanes(), n = link_reals_;
  const double* source = static_cast<const double*>(U.raw().data);
  for (int parity = 0; parity < 2; ++parity) {
    Element* target = static_cast<Element*>(raw(parity).data);
    for_each_index(layout_->blocks(), [&](int block) {
      const int32_t* origins = &origins_[parity][size_t(block) * size_t((slots() - Nd + 1) * W)];
      for (int slot = 0; slot < slots(); ++slot) {
        const int mu = slot % Nd;
        const int32_t* origin = origins + std::max(0, slot - Nd + 1) * W;
        Element* out = target + record(block, slot) * size_t(n * W);
        for (int lane = 0; lane < W; ++lane) {
          if (origin[lane] == not_here) continue;
          const double* in = source +
                             (size_t(origin[lane] / from_lanes) * Nd + size_t(mu)) * size_t(18 * from_lanes) +
                             origin[lane] % from_lanes;
          for (int i = 0; i < std::min(n, 18); ++i) out[i * W + lane] = stored<Element>(in[i * from_lanes]);
          if (n == 14) {
            Link link;
            for (int k = 0; k < 9; ++k)
              link[size_t(k)] = {in[2 * k * from_lanes], in[(2 * k + 1) * from_lanes]};
            double reals[18];
            stored_reals(link, n, reals);
            for (int i = 12; i < 14; ++i) out[i * W + lane] = stored<Element>(reals[i]);
          }
        }
      }
    });
  }
}

void HopLinks::refill(const GaugeField& U) {
  TRELLIS_REQUIRE(U.lattice_ptr() == lattice_, "the links live on another lattice");
  TRELLIS_REQUIRE(scale_bytes_ == 0, "links with scales are not refilled: build them anew");
  if ((U.backend() == Backend::cuda) != (backend_ == Backend::cuda))
    return refill(U.on(backend_ == Backend::cuda ? backend_ : Backend::cpu));
  const double largest = is_16_bit(precision_) ? largest_finite_length(U) : 0;
  if (precision_ == Precision::half_precision && link_reals_ != 8 && largest > 1.0 + length_tolerance)
    throw BadArgument(message("links with rows of length ", largest,
                              " do not fit fixed point without scales (expected 1): build them anew"));
  fill(U);
}

/// Fills links on a GPU. @pre U lies there, too
void HopLinks::fill_by_kernel(const GaugeField& U) {
  require_double(U.precision());
  const SiteTablesPtr tables = lattice_->site_tables(layout_, backend_);
  for (int parity = 0; parity < 2; ++parity) {
    const HopLinkCopyCall call{U.raw(), raw(parity),
                               tables->extended_blocks(U.site_tables().layout(), parity), link_reals_};
    dispatch(backend_, precision_, 1, [&]<class Layout, class Storage>() {
      if constexpr (std::is_same_v<Layout, CudaLayout>)
        launch_hop_link_copy<Layout, Storage>(call, SiteRange(layout_->blocks()));
    });
  }
}

void HopLinks::fill(const GaugeField& U) {
  if (backend_ == Backend::cuda) return fill_by_kernel(U);
  const int W = layout_->lanes(), n = link_reals_;
  const bool is_cpu = backend_ == Backend::cpu;
  if (is_cpu && precision_ != Precision::half_precision && n != 8) {
    if (origins_[0].empty()) build_origins(U.layout());
    if (precision_ == Precision::double_precision) return fill_blocks<double>(U);
    return precision_ == Precision::fp16_precision ? fill_blocks<Float16>(U) : fill_blocks<float>(U);
  }
  for (int parity = 0; parity < 2; ++parity) {
    const RawField field = raw(parity);
    for_each_index(layout_->blocks(), [&](int block) {
      for (int lane = 0; lane < W; ++lane)
        for (int slot = 0; slot < slots(); ++slot) {
          const std::optional<Coord> x = origin(layout_->coord({parity, block, lane}), slot);
          if (!x) continue;
          const int mu = slot % Nd;
          const Link link = U.link(*x, mu);
          float s = 1.0f;
          if (field.scale) {
            s = float(largest_length(link));
            field.scale[is_cpu ? record(block, slot) * W + lane
                               : (size_t(block / 32) * Nd + mu) * 32 + block % 32] = s;
          }
          double reals[18];
          stored_reals(link, n, reals);
          for (int i = 0; i < n; ++i) {
            const double value = reals[i];
            const int vector = int(16 / element_bytes(precision_));
            const size_t in_block = precision_ == Precision::half_precision
                                        ? cpu_component_offset<int16_t>(i, lane, W)
                                        : cpu_component_offset<float>(i, lane, W);
            const size_t at = is_cpu ? record(block, slot) * size_t(n * W) + in_block
                                     : (size_t(block / 32) * Nd + mu) * n * 32 +
                                           gpu_component_offset(i, n, block % 32, vector);
            if (precision_ == Precision::double_precision)
              static_cast<double*>(field.data)[at] = value;
            else if (precision_ == Precision::single_precision)
              static_cast<float*>(field.data)[at] = float(value);
            else if (precision_ == Precision::fp16_precision)
              static_cast<Float16*>(field.data)[at] = stored<Float16>(value);
            else
              static_cast<int16_t*>(field.data)[at] = stored_link_component(float(value) / s);
          }
        }
    });
  }
}

}  // namespace trellis
