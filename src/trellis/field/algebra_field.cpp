#include "trellis/field/algebra_field.hpp"

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/dispatch.hpp"
#include "trellis/kernels/gauge/momentum.hpp"

namespace trellis {

namespace {
constexpr int components_per_link = 8, site_reals = Nd * components_per_link;
}

AlgebraField::AlgebraField(const GaugeField& U)
    : lattice_{U.lattice_ptr()},
      layout_{U.lattice().extended_layout(U.lanes(), GaugeField::halo_width)},
      memory_{size_t(layout_->blocks()) * site_reals * size_t(layout_->lanes()) * sizeof(double)} {}

void AlgebraField::set_zero() { std::memset(memory_.data(), 0, memory_.bytes()); }

RawField AlgebraField::raw() const { return {const_cast<void*>(memory_.data()), nullptr, Nd}; }

double* AlgebraField::element(const Coord& local, int mu) const {
  return const_cast<double*>(static_cast<const double*>(memory_.data())) +
         size_t(layout_->block_at(local) * Nd + mu) * components_per_link * size_t(layout_->lanes()) +
         layout_->lane_at(local);
}

std::array<double, 8> AlgebraField::components(const Coord& local, int mu) const {
  std::array<double, 8> p;
  for (size_t a = 0; a < 8; ++a) p[a] = element(local, mu)[a * size_t(layout_->lanes())];
  return p;
}

void AlgebraField::set_components(const Coord& local, int mu, const std::array<double, 8>& p) {
  for (size_t a = 0; a < 8; ++a) element(local, mu)[a * size_t(layout_->lanes())] = p[a];
}

void AlgebraField::to_canonical(double* out) const {
  const Coord& extents = lattice_->geometry().local();
  for_each_index(int(lattice_->geometry().local_volume()), [&](int site) {
    for (int mu = 0; mu < Nd; ++mu) {
      const std::array<double, 8> p = components(site_coord(site, extents), mu);
      std::memcpy(out + size_t(site) * site_reals + size_t(mu) * 8, p.data(), sizeof(p));
    }
  });
}

void AlgebraField::from_canonical(const double* in) {
  const Coord& extents = lattice_->geometry().local();
  for_each_index(int(lattice_->geometry().local_volume()), [&](int site) {
    for (int mu = 0; mu < Nd; ++mu) {
      std::array<double, 8> p;
      std::memcpy(p.data(), in + size_t(site) * site_reals + size_t(mu) * 8, sizeof(p));
      set_components(site_coord(site, extents), mu, p);
    }
  });
}

double dot(const AlgebraField& p, const AlgebraField& q) {
  TRELLIS_REQUIRE(p.lattice().geometry() == q.lattice().geometry(),
                  "algebra fields live on different lattices");
  TRELLIS_REQUIRE(p.lanes() == q.lanes(), "algebra fields have ", p.lanes(), " and ", q.lanes(), " lanes");
  ExactSum sum;
  dispatch(Backend::cpu, Precision::double_precision, p.lanes(), [&]<class Layout, class Storage>() {
    if constexpr (std::is_same_v<Storage, double> && !std::is_base_of_v<GpuLayout, Layout>)
      launch_algebra_dot<Layout, Storage>(p.raw(), q.raw(), SiteRange(p.layout().inner()), &sum);
  });
  p.lattice().communicator().sum(&sum, 1);
  return sum.value();
}

}  // namespace trellis
