#include "trellis/field/algebra_field.hpp"

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/threads.hpp"

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
  const Geometry& geometry = p.lattice().geometry();
  ExactSum sum;
  for (int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, geometry.local());
      const auto a = p.components(x, mu), b = q.components(x, mu);
      double term = a[0] * b[0];
      for (size_t k = 1; k < 8; ++k) term = fma(a[k], b[k], term);
      sum.add(term);
    }
  p.lattice().communicator().sum(&sum, 1);
  return sum.value();
}

}  // namespace trellis
