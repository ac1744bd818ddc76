#include "trellis/field/gauge_field.hpp"

#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/link_dispatch.hpp"
#include "trellis/kernels/gauge/link_fields.hpp"
#include "trellis/lattice/split_extent.hpp"

namespace trellis {

namespace {

/// Calls f(0.0) or f(0.0f), by the type of the stored reals.
template <class F>
decltype(auto) with_real(Precision precision, F&& f) {
  return precision == Precision::double_precision ? f(0.0) : f(0.0f);
}
}  // namespace

GaugeField::GaugeField(Zeros storage) : lattice_{std::move(storage.lattice)}, precision_{storage.precision} {
  const Backend backend = storage.backend;
  TRELLIS_REQUIRE(precision_ == Precision::double_precision ||
                      (precision_ == Precision::single_precision && backend == Backend::cpu),
                  "gauge fields are in double, on the CPU also in single precision; not in ",
                  name_of(precision_), " on the backend ", name_of(backend));
  require_even_parts(geometry(), "a gauge field");
  require_periodic(geometry(), "a gauge field");
  const int lanes = lanes_of_launches(backend, precision_, storage.lanes);
  layout_ = lattice_->extended_layout(lanes, storage.halo);
  tables_ = lattice_->gauge_tables(lanes, storage.halo, backend);
  const size_t bytes =
      size_t(tables_->stored_blocks()) * gauge_reals * size_t(layout_->lanes()) * element_bytes(precision_);
  memory_ = storage.is_zeroed ? Memory(bytes, backend) : Memory::to_be_written(bytes, backend);
  valid_layers_ = storage.is_zeroed ? storage.halo : 0;
}

GaugeField::GaugeField(LatticePtr lattice, int lanes, int halo, Backend backend, Precision precision)
    : GaugeField(Zeros{std::move(lattice), lanes, halo, backend, precision}) {
  set_unit();
}

void GaugeField::set_unit() {
  if (backend() == Backend::cuda)
    return dispatch_links(*tables_, [&]<class Layout, class Storage>() {
      launch_unit_links<Layout, Storage>(raw(), SiteRange(layout_->blocks()));
    });
  const size_t W = size_t(layout_->lanes());
  with_real(precision_, [&](auto zero) {
    using Real = decltype(zero);
    for_each_index(layout_->blocks(), [&](int block) {
      for (int mu = 0; mu < Nd; ++mu)
        for (size_t i = 0; i < Nc; ++i) std::fill_n(element<Real>(block, 0, mu) + 8 * i * W, W, Real(1));
    });
  });
}

GaugeField::GaugeField(const GaugeField& other)
    : lattice_{other.lattice_},
      layout_{other.layout_},
      tables_{other.tables_},
      precision_{other.precision_},
      memory_{Memory::to_be_written(other.memory_.bytes(), other.backend())},
      valid_layers_{other.valid_layers_} {
  memory_.copy_from(other.memory_);
}

GaugeField GaugeField::like(const GaugeField& U) {
  return GaugeField(U.lattice_, U.lanes(), U.layout_->width(), U.backend(), U.precision_);
}

GaugeField GaugeField::zeros_like(const GaugeField& U) {
  return GaugeField(Zeros{U.lattice_, U.lanes(), U.layout_->width(), U.backend(), U.precision_});
}

GaugeField GaugeField::unset_like(const GaugeField& U) {
  return GaugeField(Zeros{U.lattice_, U.lanes(), U.layout_->width(), U.backend(), U.precision_, false});
}

GaugeField GaugeField::on(Backend backend, int lanes) const {
  GaugeField out(lattice_, lanes, layout_->width(), backend);
  std::vector<double> links(canonical_size());
  to_canonical(links.data());
  out.from_canonical(links.data());
  return out;
}

void GaugeField::set_zero() {
  memory_.set_zero();
  valid_layers_ = 0;
}

GaugeField& GaugeField::operator=(const GaugeField& other) {
  if (this == &other) return *this;
  if (!is_stored_like(other) || memory_.bytes() != other.memory_.bytes()) return *this = GaugeField(other);
  lattice_ = other.lattice_;
  memory_.copy_from(other.memory_);
  valid_layers_ = other.valid_layers_;
  return *this;
}

RawField GaugeField::raw() const { return {const_cast<void*>(memory_.data()), nullptr, Nd}; }

ExtendedTables GaugeField::tables() const { return tables_->views(); }

template <class Real>
Real* GaugeField::element(int block, int lane, int mu) const {
  return const_cast<Real*>(static_cast<const Real*>(memory_.data())) +
         (size_t(block) * Nd + size_t(mu)) * reals_per_link * size_t(layout_->lanes()) + lane;
}

size_t GaugeField::offset_on_gpu(int block, int mu, int real) const {
  return (size_t(block / GpuLayout::warp) * Nd + size_t(mu)) * reals_per_link * GpuLayout::warp +
         gpu_component_offset(real, reals_per_link, block % GpuLayout::warp, gpu_vector_length<double>);
}

Link GaugeField::link(const Coord& local, int mu) const {
  if (backend() == Backend::cuda) {  // real and imaginary part lie side by side
    Link U;
    for (int k = 0; k < 9; ++k)
      cuda::copy_to_host(
          &U[size_t(k)],
          static_cast<const double*>(memory_.data()) + offset_on_gpu(layout_->block_at(local), mu, 2 * k),
          sizeof(U[size_t(k)]));
    return U;
  }
  const size_t W = size_t(layout_->lanes());
  return with_real(precision_, [&](auto zero) {
    const auto* p = element<decltype(zero)>(layout_->block_at(local), layout_->lane_at(local), mu);
    Link U;
    for (size_t k = 0; k < 9; ++k) U[k] = {double(p[2 * k * W]), double(p[(2 * k + 1) * W])};
    return U;
  });
}

void GaugeField::set_link(const Coord& local, int mu, const Link& U) {
  valid_layers_ = 0;
  if (backend() == Backend::cuda) {
    for (int k = 0; k < 9; ++k)
      cuda::copy_from_host(
          static_cast<double*>(memory_.data()) + offset_on_gpu(layout_->block_at(local), mu, 2 * k),
          &U[size_t(k)], sizeof(U[size_t(k)]));
    return;
  }
  const size_t W = size_t(layout_->lanes());
  with_real(precision_, [&](auto zero) {
    using Real = decltype(zero);
    Real* p = element<Real>(layout_->block_at(local), layout_->lane_at(local), mu);
    for (size_t k = 0; k < 9; ++k) {
      p[2 * k * W] = Real(U[k].real());
      p[(2 * k + 1) * W] = Real(U[k].imag());
    }
  });
}

void GaugeField::to_canonical(double* out) const {
  const int W = layout_->lanes();
  const auto& inner = layout_->inner();
  if (backend() == Backend::cuda) {
    std::vector<double> image(memory_.bytes() / sizeof(double));
    memory_.copy_to_host(image.data(), memory_.bytes());
    return for_each_index(int(inner.size()), [&](int i) {
      const int64_t site = site_index(layout_->coord(inner[i], 0), geometry().local());
      for (int n = 0; n < gauge_reals; ++n)
        out[site * gauge_reals + n] = image[offset_on_gpu(inner[i], n / reals_per_link, n % reals_per_link)];
    });
  }
  with_real(precision_, [&](auto zero) {
    for_each_index(int(inner.size()), [&](int i) {
      for (int lane = 0; lane < W; ++lane) {
        const int64_t site = site_index(layout_->coord(inner[i], lane), geometry().local());
        for (int mu = 0; mu < Nd; ++mu) {
          const auto* p = element<decltype(zero)>(inner[i], lane, mu);
          for (int k = 0; k < reals_per_link; ++k)
            out[site * gauge_reals + mu * reals_per_link + k] = double(p[size_t(k) * size_t(W)]);
        }
      }
    });
  });
}

void GaugeField::from_canonical(const double* in) {
  const int W = layout_->lanes();
  const auto& inner = layout_->inner();
  valid_layers_ = 0;
  if (backend() == Backend::cuda) {
    std::vector<double> image(memory_.bytes() / sizeof(double), 0.0);
    for_each_index(int(inner.size()), [&](int i) {
      const int64_t site = site_index(layout_->coord(inner[i], 0), geometry().local());
      for (int n = 0; n < gauge_reals; ++n)
        image[offset_on_gpu(inner[i], n / reals_per_link, n % reals_per_link)] = in[site * gauge_reals + n];
    });
    return memory_.copy_from_host(image.data(), memory_.bytes());
  }
  with_real(precision_, [&](auto zero) {
    using Real = decltype(zero);
    for_each_index(int(inner.size()), [&](int i) {
      for (int lane = 0; lane < W; ++lane) {
        const int64_t site = site_index(layout_->coord(inner[i], lane), geometry().local());
        for (int mu = 0; mu < Nd; ++mu) {
          Real* p = element<Real>(inner[i], lane, mu);
          for (int k = 0; k < reals_per_link; ++k)
            p[size_t(k) * size_t(W)] = Real(in[site * gauge_reals + mu * reals_per_link + k]);
        }
      }
    });
  });
}

void GaugeField::update_halo(int layers) const {
  TRELLIS_REQUIRE(layers >= 1 && layers <= layout_->width(), "a halo of ", layers,
                  " layers was asked for, the field has ", layout_->width());
  if (valid_layers_ >= layers) return;
  exchange({layers, 0, Nd, -1, precision_});
  valid_layers_ = layers;
}

void GaugeField::update_halo_of(int mu, int parity) {
  TRELLIS_REQUIRE(valid_layers_ >= 1, "the halo of the other links is not up to date");
  exchange({1, mu, 1, parity, precision_});
  valid_layers_ = 1;
}

void GaugeField::exchange(const GaugeTables::HaloPart& part) const {
  if (geometry().grid().size() > 1) tables_->exchange(raw(), part, lattice_->communicator());
}

}  // namespace trellis
