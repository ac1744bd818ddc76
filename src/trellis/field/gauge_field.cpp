#include "trellis/field/gauge_field.hpp"

#include <cstring>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
constexpr int link_reals = 18, site_reals = 72;
}

GaugeField::GaugeField(LatticePtr lattice, int lanes, int halo) : lattice_{std::move(lattice)} {
  if (lanes == 0) lanes = native_lanes(Precision::double_precision);
  layout_ = lattice_->extended_layout(lanes, halo);
  memory_ = Memory(size_t(layout_->blocks()) * site_reals * layout_->lanes() * sizeof(double));
  double* data = static_cast<double*>(memory_.data());
  const int W = layout_->lanes();
  for_each_index(layout_->blocks(), [&](int block) {
    for (int mu = 0; mu < Nd; ++mu)
      for (int i = 0; i < Nc; ++i)
        std::fill_n(data + ((size_t(block) * Nd + mu) * link_reals + 8 * i) * W, W, 1.0);
  });
  valid_layers_ = halo;
}

GaugeField::GaugeField(const GaugeField& other)
    : lattice_{other.lattice_},
      layout_{other.layout_},
      memory_{other.memory_.bytes()},
      valid_layers_{other.valid_layers_} {
  std::memcpy(memory_.data(), other.memory_.data(), memory_.bytes());
}

GaugeField& GaugeField::operator=(const GaugeField& other) {
  if (this == &other) return *this;
  if (layout_ != other.layout_ || memory_.bytes() != other.memory_.bytes()) return *this = GaugeField(other);
  lattice_ = other.lattice_;
  memory_.copy_from(other.memory_);
  valid_layers_ = other.valid_layers_;
  return *this;
}

RawField GaugeField::raw() const { return {const_cast<void*>(memory_.data()), nullptr, Nd}; }

ExtendedTables GaugeField::tables() const {
  ExtendedTables t;
  t.neighbours = layout_->neighbours().data();
  t.shift_sums = layout_->shift_sums().data();
  t.permutations = layout_->permutations();
  for (int leg = 0; leg < 8; ++leg) t.shift[leg] = layout_->shift(leg);
  return t;
}

double* GaugeField::element(int block, int lane, int mu) const {
  return const_cast<double*>(static_cast<const double*>(memory_.data())) +
         (size_t(block) * Nd + mu) * link_reals * layout_->lanes() + lane;
}

Link GaugeField::link(const Coord& local, int mu) const {
  const double* p = element(layout_->block_at(local), layout_->lane_at(local), mu);
  const int W = layout_->lanes();
  Link U;
  for (int k = 0; k < 9; ++k) U[k] = {p[size_t(2 * k) * W], p[size_t(2 * k + 1) * W]};
  return U;
}

void GaugeField::set_link(const Coord& local, int mu, const Link& U) {
  double* p = element(layout_->block_at(local), layout_->lane_at(local), mu);
  const int W = layout_->lanes();
  for (int k = 0; k < 9; ++k) {
    p[size_t(2 * k) * W] = U[k].real();
    p[size_t(2 * k + 1) * W] = U[k].imag();
  }
  valid_layers_ = 0;
}

void GaugeField::to_canonical(double* out) const {
  const int W = layout_->lanes();
  const auto& inner = layout_->inner();
  for_each_index(int(inner.size()), [&](int i) {
    for (int lane = 0; lane < W; ++lane) {
      const int64_t site = site_index(layout_->coord(inner[i], lane), geometry().local());
      for (int mu = 0; mu < Nd; ++mu) {
        const double* p = element(inner[i], lane, mu);
        for (int k = 0; k < link_reals; ++k) out[site * site_reals + mu * link_reals + k] = p[size_t(k) * W];
      }
    }
  });
}

void GaugeField::from_canonical(const double* in) {
  const int W = layout_->lanes();
  const auto& inner = layout_->inner();
  for_each_index(int(inner.size()), [&](int i) {
    for (int lane = 0; lane < W; ++lane) {
      const int64_t site = site_index(layout_->coord(inner[i], lane), geometry().local());
      for (int mu = 0; mu < Nd; ++mu) {
        double* p = element(inner[i], lane, mu);
        for (int k = 0; k < link_reals; ++k) p[size_t(k) * W] = in[site * site_reals + mu * link_reals + k];
      }
    }
  });
  valid_layers_ = 0;
}

void GaugeField::update_halo(int layers) const {
  TRELLIS_REQUIRE(layers >= 1 && layers <= layout_->width(), "a halo of ", layers,
                  " layers was asked for, the field has ", layout_->width());
  if (valid_layers_ >= layers) return;
  for (int mu = 0; mu < Nd; ++mu)
    if (geometry().is_split(mu)) exchange_direction(mu, {layers, 0, Nd, -1});
  valid_layers_ = layers;
}

void GaugeField::update_halo_of(int mu, int parity) {
  TRELLIS_REQUIRE(valid_layers_ >= 1, "the halo of the other links is not up to date");
  for (int nu = 0; nu < Nd; ++nu)
    if (geometry().is_split(nu)) exchange_direction(nu, {1, mu, 1, parity});
  valid_layers_ = 1;
}

namespace {
/// Where a lane of a ghost block finds its site: in a block with the coordinate `sub` (in this direction), in
/// `lane`, on this rank or on the neighbour. On short lattices it may lie two lanes away.
struct GhostOrigin {
  int sub, lane;
  bool is_remote;
};
GhostOrigin ghost_origin(const ExtendedLayout& layout, int mu, int step, int layer, int lane) {
  const int l = layout.sub_extents()[mu], extent = layout.geometry().local()[mu];
  Coord c = layout.lane_coord(lane);
  const int x = c[mu] * l + (step > 0 ? l + layer : -1 - layer), y = (x + extent) % extent;
  c[mu] = y / l;
  return {y % l, int(site_index(c, layout.lane_extents())), x < 0 || x >= extent};
}
}  // namespace

/// Fills the ghost blocks of one direction. Directions are done one after the other, and the halos of the
/// earlier ones are sent along, which fills the corners.
void GaugeField::exchange_direction(int mu, const HaloPart& part) const {
  const ExtendedLayout& layout = *layout_;
  const int W = layout.lanes(), l = layout.sub_extents()[mu], w = part.layers;
  const int reals = link_reals * part.links;
  Coord begin{}, end{};
  for (int nu = 0; nu < Nd; ++nu) {
    const int halo = nu < mu && geometry().is_split(nu) ? w : 0;
    begin[nu] = nu == mu ? 0 : -halo;
    end[nu] = nu == mu ? w : layout.sub_extents()[nu] + halo;
  }
  // The site of a ghost of layer k has the parity of the coordinate k, or -1 - k: l is even.
  auto is_wanted = [&](int step, const Coord& x) {
    return part.parity < 0 || ((x[0] + x[1] + x[2] + x[3] + (step > 0 ? 0 : 1)) & 1) == part.parity;
  };
  // Calls f(step, ghost block, source block, layer) for layers 0..w-1 counted away from the edge.
  auto for_each_ghost = [&](auto f) {
    for (int step = 1; step >= -1; step -= 2) {
      Coord x;
      for (x[3] = begin[3]; x[3] < end[3]; ++x[3])
        for (x[2] = begin[2]; x[2] < end[2]; ++x[2])
          for (x[1] = begin[1]; x[1] < end[1]; ++x[1])
            for (x[0] = begin[0]; x[0] < end[0]; ++x[0]) {
              if (!is_wanted(step, x)) continue;
              Coord ghost = x, source = x;
              ghost[mu] = step > 0 ? l + x[mu] : -1 - x[mu];
              source[mu] = ghost_origin(layout, mu, step, x[mu], 0).sub;
              f(step, layout.block_of(ghost), layout.block_of(source), x[mu]);
            }
    }
  };
  std::vector<double> send[2], receive[2];
  // Every rank has the same local lattice: what the neighbour behind lacks of this rank are, in the same
  // order, the sites that this rank lacks of the neighbour ahead.
  for_each_ghost([&](int step, int, int source, int layer) {
    for (int lane = 0; lane < W; ++lane) {
      const GhostOrigin origin = ghost_origin(layout, mu, step, layer, lane);
      if (!origin.is_remote) continue;
      const double* p = element(source, origin.lane, part.first_link);
      for (int k = 0; k < reals; ++k) send[step < 0].push_back(p[size_t(k) * W]);
    }
  });
  for (int k = 0; k < 2; ++k) receive[k].resize(send[k].size());
  const int forward = geometry().neighbour_rank(mu, 1), backward = geometry().neighbour_rank(mu, -1);
  std::vector<Message> sends, receives;
  for (int k = 0; k < 2; ++k) {
    sends.push_back({k == 0 ? backward : forward, k, send[k].data(), send[k].size() * sizeof(double)});
    receives.push_back(
        {k == 0 ? forward : backward, k, receive[k].data(), receive[k].size() * sizeof(double)});
  }
  const auto exchange = lattice_->communicator().make_exchange(sends, receives);
  exchange->start();
  exchange->wait();
  const double* arrived[2] = {receive[0].data(), receive[1].data()};
  for_each_ghost([&](int step, int ghost, int source, int layer) {
    for (int lane = 0; lane < W; ++lane) {
      const GhostOrigin origin = ghost_origin(layout, mu, step, layer, lane);
      double* out = element(ghost, lane, part.first_link);
      const double* in = origin.is_remote ? arrived[step < 0] : element(source, origin.lane, part.first_link);
      const size_t stride = origin.is_remote ? 1 : size_t(W);
      for (int k = 0; k < reals; ++k) out[size_t(k) * W] = in[size_t(k) * stride];
      if (origin.is_remote) arrived[step < 0] += reals;
    }
  });
}

}  // namespace trellis
