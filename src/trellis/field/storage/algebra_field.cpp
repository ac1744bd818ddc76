#include "trellis/field/algebra_field.hpp"

#include <cstring>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/device/site_range.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/gauge/momentum.hpp"

namespace trellis {

namespace {
constexpr int components_per_link = 8, algebra_reals = Nd * components_per_link;
}

AlgebraField::AlgebraField(const GaugeField& U)
    : lattice_{U.lattice_ptr()},
      layout_{U.lattice().extended_layout(U.lanes(), GaugeField::halo_width)},
      tables_{U.lattice().gauge_tables(U.lanes(), GaugeField::halo_width, U.backend())},
      precision_{U.precision()},
      memory_{size_t(tables_->stored_blocks()) * algebra_reals * size_t(layout_->lanes()) *
                  element_bytes(precision_),
              U.backend()} {}

void AlgebraField::set_zero() { memory_.set_zero(); }

RawField AlgebraField::raw() const { return {const_cast<void*>(memory_.data()), nullptr, Nd}; }

size_t AlgebraField::offset_on_gpu(const Coord& local, int mu, int component) const {
  const int block = layout_->block_at(local);
  return (size_t(block / GpuLayout::warp) * Nd + size_t(mu)) * components_per_link * GpuLayout::warp +
         gpu_component_offset(component, components_per_link, block % GpuLayout::warp,
                              gpu_vector_length<double>);
}

/// Returns the address of an element. Pairs of components lie side by side on a GPU.
template <class Real>
Real* AlgebraField::element(const Coord& local, int mu) const {
  return const_cast<Real*>(static_cast<const Real*>(memory_.data())) +
         size_t(layout_->block_at(local) * Nd + mu) * components_per_link * size_t(layout_->lanes()) +
         layout_->lane_at(local);
}

std::array<double, 8> AlgebraField::components(const Coord& local, int mu) const {
  std::array<double, 8> p;
  if (backend() == Backend::cuda) {
    for (int a = 0; a < 8; a += 2)
      cuda::copy_to_host(&p[size_t(a)],
                         static_cast<const double*>(memory_.data()) + offset_on_gpu(local, mu, a),
                         2 * sizeof(double));
    return p;
  }
  const size_t W = size_t(layout_->lanes());
  for (size_t a = 0; a < 8; ++a)
    p[a] = precision_ == Precision::double_precision ? element<double>(local, mu)[a * W]
                                                     : double(element<float>(local, mu)[a * W]);
  return p;
}

void AlgebraField::set_components(const Coord& local, int mu, const std::array<double, 8>& p) {
  if (backend() == Backend::cuda) {
    for (int a = 0; a < 8; a += 2)
      cuda::copy_from_host(static_cast<double*>(memory_.data()) + offset_on_gpu(local, mu, a), &p[size_t(a)],
                           2 * sizeof(double));
    return;
  }
  const size_t W = size_t(layout_->lanes());
  for (size_t a = 0; a < 8; ++a)
    if (precision_ == Precision::double_precision)
      element<double>(local, mu)[a * W] = p[a];
    else
      element<float>(local, mu)[a * W] = float(p[a]);
}

void AlgebraField::to_canonical(double* out) const {
  const Coord& extents = lattice_->geometry().local();
  if (backend() == Backend::cuda) {
    std::vector<double> image(memory_.bytes() / sizeof(double));
    memory_.copy_to_host(image.data(), memory_.bytes());
    return for_each_index(int(lattice_->geometry().local_volume()), [&](int site) {
      for (int n = 0; n < algebra_reals; ++n)
        out[size_t(site) * algebra_reals + size_t(n)] =
            image[offset_on_gpu(site_coord(site, extents), n / 8, n % 8)];
    });
  }
  for_each_index(int(lattice_->geometry().local_volume()), [&](int site) {
    for (int mu = 0; mu < Nd; ++mu) {
      const std::array<double, 8> p = components(site_coord(site, extents), mu);
      std::memcpy(out + size_t(site) * algebra_reals + size_t(mu) * 8, p.data(), sizeof(p));
    }
  });
}

void AlgebraField::from_canonical(const double* in) {
  const Coord& extents = lattice_->geometry().local();
  if (backend() == Backend::cuda) {
    std::vector<double> image(memory_.bytes() / sizeof(double), 0.0);
    for_each_index(int(lattice_->geometry().local_volume()), [&](int site) {
      for (int n = 0; n < algebra_reals; ++n)
        image[offset_on_gpu(site_coord(site, extents), n / 8, n % 8)] =
            in[size_t(site) * algebra_reals + size_t(n)];
    });
    return memory_.copy_from_host(image.data(), memory_.bytes());
  }
  for_each_index(int(lattice_->geometry().local_volume()), [&](int site) {
    for (int mu = 0; mu < Nd; ++mu) {
      std::array<double, 8> p;
      std::memcpy(p.data(), in + size_t(site) * algebra_reals + size_t(mu) * 8, sizeof(p));
      set_components(site_coord(site, extents), mu, p);
    }
  });
}

double dot(const AlgebraField& p, const AlgebraField& q) {
  TRELLIS_REQUIRE(p.lattice().geometry() == q.lattice().geometry(),
                  "algebra fields live on different lattices");
  TRELLIS_REQUIRE(p.is_stored_like(q), "algebra fields have ", p.lanes(), " and ", q.lanes(),
                  " lanes, on the backends ", name_of(p.backend()), " and ", name_of(q.backend()));
  require_double(p.precision());
  ExactSum sum;
  dispatch_links(p.site_tables(), [&]<class Layout, class Storage>() {
    launch_algebra_dot<Layout, Storage>(p.raw(), q.raw(), p.site_tables().inner(), &sum);
  });
  p.lattice().communicator().sum(&sum, 1);
  return sum.value();
}

}  // namespace trellis
