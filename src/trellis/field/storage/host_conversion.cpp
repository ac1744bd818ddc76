#include "trellis/field/host_conversion.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/lane_conversion.hpp"
#include "trellis/view/site_elements.hpp"

namespace trellis {

namespace {

/// This holds the reals of one object in all lanes of a block. It lies on the stack but for large sites.
template <class Real, int lanes>
class Scratch {
 public:
  explicit Scratch(int reals) {
    if (reals > usual_reals) large_.resize(size_t(reals) * lanes);
  }
  Real* data() { return large_.empty() ? usual_ : large_.data(); }

 private:
  static constexpr int usual_reals = 72;
  alignas(64) Real usual_[usual_reals * lanes];
  std::vector<Real> large_;
};

/// The table says where the sites of one order stand in another: [parity][block][lane] -> block * lanes +
/// lane of the source. Divisions make this as dear as the conversion itself, so pairs of orders in use are
/// remembered.
class OriginTable {
 public:
  OriginTable(const SiteLayoutPtr& to, const SiteLayoutPtr& from)
      : to_{to}, from_{from}, lanes_{to->lanes()} {
    for (int parity = 0; parity < 2; ++parity) {
      sites_[parity].resize(size_t(to->blocks(parity)) * size_t(lanes_));
      for_each_index(to->blocks(parity), [&](int block) {
        for (int lane = 0; lane < lanes_; ++lane) {
          const SitePosition target{parity, block, lane};
          const SitePosition at = to == from ? target : from->position(to->coord(target));
          sites_[parity][size_t(block) * size_t(lanes_) + size_t(lane)] = at.block * from->lanes() + at.lane;
        }
      });
    }
  }
  const int32_t* block(int parity, int block) const {
    return &sites_[parity][size_t(block) * size_t(lanes_)];
  }
  bool is_expired() const { return to_.expired() || from_.expired(); }

 private:
  std::weak_ptr<const SiteLayout> to_, from_;
  int lanes_;
  std::vector<int32_t> sites_[2];
};

std::shared_ptr<const OriginTable> origin_table(const SiteLayoutPtr& to, const SiteLayoutPtr& from) {
  static std::mutex mutex;
  static std::map<std::pair<const SiteLayout*, const SiteLayout*>, std::shared_ptr<const OriginTable>> tables;
  const std::lock_guard lock(mutex);
  std::erase_if(tables, [](const auto& entry) { return entry.second->is_expired(); });
  auto& table = tables[{to.get(), from.get()}];
  if (!table) table = std::make_shared<OriginTable>(to, from);
  return table;
}

/// Gathers the stored elements of one target block, one right-hand side, as [component][lane].
template <int lanes, class Element, class Real>
void gather(Real* out, const RawField& in, const int32_t* origin, int slot, const SiteStorage& from) {
  const int n = from.reals, from_lanes = from.lanes;
  const int64_t stored = from.stored_reals();
  int64_t offset[lanes];
  int lane_of[lanes];
  float unit[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    const int from_lane = origin[lane] % from_lanes;
    const int64_t site = int64_t(origin[lane] / from_lanes) * in.slots + slot;
    offset[lane] = site * stored * from_lanes;
    lane_of[lane] = from_lane;
    if constexpr (std::is_same_v<Element, int16_t>)
      unit[lane] = in.scale[site * from_lanes + from_lane] * (1.0f / site_full_scale(n));
  }
  const Element* p = static_cast<const Element*>(in.data);
  for (int i = 0; i < n; ++i)
    for (int lane = 0; lane < lanes; ++lane) {
      const Element element =
          p[offset[lane] + int64_t(cpu_component_offset<Element>(i, lane_of[lane], from_lanes))];
      if constexpr (std::is_same_v<Element, int16_t>)
        out[i * lanes + lane] = unit[lane] * float(element);
      else if constexpr (std::is_same_v<Element, Float16>)
        out[i * lanes + lane] = Real(float(element));
      else
        out[i * lanes + lane] = Real(element);
    }
}

template <int lanes, class Real>
void gather(Real* out, const SpinorField& in, const RawField& raw, const int32_t* origin, int slot) {
  switch (in.precision()) {
    case Precision::double_precision:
      return gather<lanes, double>(out, raw, origin, slot, in.storage());
    case Precision::single_precision:
      return gather<lanes, float>(out, raw, origin, slot, in.storage());
    case Precision::half_precision:
      return gather<lanes, int16_t>(out, raw, origin, slot, in.storage());
    case Precision::fp16_precision:
      return gather<lanes, Float16>(out, raw, origin, slot, in.storage());
  }
}

/// Makes 16-bit fixed point of floats [component][lane], with the scales that SiteArray::store() would give.
template <int lanes>
void quantise(int16_t* out, float* scale, const float* in, int n) {
  float largest[lanes] = {}, inverse[lanes];
  for (int i = 0; i < n; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      largest[lane] = larger_magnitude(largest[lane], in[i * lanes + lane]);
  for (int lane = 0; lane < lanes; ++lane) {
    scale[lane] = largest[lane];
    inverse[lane] = site_full_scale(n) / maximum(largest[lane], 1e-37f);
  }
  for (int i = 0; i < n; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      store_fixed(out + cpu_component_offset<int16_t>(i, lane, lanes), inverse[lane] * in[i * lanes + lane]);
}

template <int lanes>
void convert_block(const SpinorField& out, const RawField& to, const SpinorField& in, const RawField& from,
                   const int32_t* origin, int block) {
  const int n = out.reals();
  const size_t stored = size_t(out.storage().stored_reals());
  for (int slot = 0; slot < out.slots(); ++slot) {
    const size_t first = (size_t(block) * size_t(to.slots) + size_t(slot)) * lanes;
    switch (out.precision()) {
      case Precision::double_precision:
        gather<lanes>(static_cast<double*>(to.data) + first * stored, in, from, origin, slot);
        break;
      case Precision::single_precision:
        gather<lanes>(static_cast<float*>(to.data) + first * stored, in, from, origin, slot);
        break;
      case Precision::half_precision: {
        Scratch<float, lanes> reals(n);
        gather<lanes>(reals.data(), in, from, origin, slot);
        quantise<lanes>(static_cast<int16_t*>(to.data) + first * stored, to.scale + first, reals.data(), n);
        break;
      }
      case Precision::fp16_precision: {
        Scratch<float, lanes> reals(n);
        gather<lanes>(reals.data(), in, from, origin, slot);
        Float16* target = static_cast<Float16*>(to.data) + first * stored;
        for (int i = 0; i < n * lanes; ++i) target[i] = Float16(reals.data()[i]);
      }
    }
  }
}

/// Converts between the storages of a mixed-precision solver, vectorised. Returns false where the lanes do
/// not come in pairs of blocks. The bits are the same as those of convert_block().
template <class Storage, int N>
bool convert_pair(const SpinorField& out, const SpinorField& in, int parity, const OriginTable& table) {
  const bool narrows = out.layout().lanes() == 16;
  const int lanes = out.layout().lanes(), from_lanes = in.layout().lanes();
  LaneOrigin first;
  if (!first.find(table.block(parity, 0), lanes, from_lanes)) return false;
  if (!narrows && first.block[0] != first.block[1]) return false;
  const SiteArray<CpuLayout<16>, Storage, N> low(narrows ? out.raw(parity) : in.raw(parity));
  const SiteArray<CpuLayout<8>, double, N> high(narrows ? in.raw(parity) : out.raw(parity));
  for_each_index(out.layout().blocks(parity), [&](int block) {
    LaneOrigin origin;
    origin.find(table.block(parity, block), lanes, from_lanes);
    for (int slot = 0; slot < out.slots(); ++slot)
      narrows ? narrow_block(low, block, high, origin, slot) : widen_block(high, block, low, origin, slot);
  });
  return true;
}

template <int N>
bool convert_pair(const SpinorField& out, const SpinorField& in, int parity, const OriginTable& table) {
  const SpinorField& low = out.layout().lanes() == 16 ? out : in;
  if (low.precision() == Precision::half_precision) return convert_pair<Half, N>(out, in, parity, table);
  if (low.precision() == Precision::fp16_precision) return convert_pair<Fp16, N>(out, in, parity, table);
  return convert_pair<float, N>(out, in, parity, table);
}

bool is_pair(const SpinorField& high, const SpinorField& low) {
  return high.precision() == Precision::double_precision && high.layout().lanes() == 8 &&
         low.precision() != Precision::double_precision && low.layout().lanes() == 16;
}

bool try_convert_pair(const SpinorField& out, const SpinorField& in, int parity, const OriginTable& table) {
  if (!is_pair(out, in) && !is_pair(in, out)) return false;
  if (out.reals() == 24) return convert_pair<24>(out, in, parity, table);
  if (out.reals() == 6) return convert_pair<6>(out, in, parity, table);
  return false;
}

void convert_parity(const SpinorField& out, const SpinorField& in, int parity, const OriginTable& table) {
  if (try_convert_pair(out, in, parity, table)) return;
  const RawField to = out.raw(parity), from = in.raw(parity);
  const auto convert_all = [&]<int lanes>() {
    for_each_index(out.layout().blocks(parity), [&](int block) {
      convert_block<lanes>(out, to, in, from, table.block(parity, block), block);
    });
  };
  switch (out.layout().lanes()) {
    case 1:
      return convert_all.template operator()<1>();
    case 4:
      return convert_all.template operator()<4>();
    case 8:
      return convert_all.template operator()<8>();
    case 16:
      return convert_all.template operator()<16>();
  }
  throw NotAvailable(message("no conversion to fields with ", out.layout().lanes(), " lanes"));
}

/// Converts any layout, site by site.
void convert_sites(SpinorField& out, const SpinorField& in, int parity, const OriginTable& table) {
  const int lanes = out.layout().lanes(), from_lanes = in.layout().lanes();
  for_each_index(out.layout().blocks(parity), [&](int block) {
    Scratch<double, 1> reals(out.reals());
    const int32_t* origin = table.block(parity, block);
    for (int lane = 0; lane < lanes; ++lane)
      for (int slot = 0; slot < out.slots(); ++slot) {
        in.get_site({parity, origin[lane] / from_lanes, origin[lane] % from_lanes}, slot, reals.data());
        out.set_site({parity, block, lane}, slot, reals.data());
      }
  });
}

}  // namespace

void convert_on_host(SpinorField& out, const SpinorField& in) {
  TRELLIS_REQUIRE(out.lattice_ptr() == in.lattice_ptr() && out.subset() == in.subset() &&
                      out.rhs() == in.rhs() && out.slices() == in.slices() && out.reals() == in.reals(),
                  "convert: fields differ in lattice, subset or number of right-hand sides");
  TRELLIS_REQUIRE(out.spec().backend != Backend::cuda && in.spec().backend != Backend::cuda,
                  "convert_on_host: a field is on the GPU");
  const bool has_blocks = out.spec().backend == Backend::cpu && in.spec().backend == Backend::cpu;
  const auto table = origin_table(out.layout_ptr(), in.layout_ptr());
  for (int parity = first_parity(out.subset()); parity <= last_parity(out.subset()); ++parity)
    has_blocks ? convert_parity(out, in, parity, *table) : convert_sites(out, in, parity, *table);
}

}  // namespace trellis
