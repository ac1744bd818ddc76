#include "trellis/field/hop_links.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {

namespace {
double violation(const Link& U) {
  double worst = 0;
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    worst = std::max(worst, std::abs(U[6 + j] - std::conj(U[k] * U[3 + l] - U[l] * U[3 + k])));
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      std::complex<double> s = i == j ? -1.0 : 0.0;
      for (int k = 0; k < 3; ++k) s += U[3 * i + k] * std::conj(U[3 * j + k]);
      worst = std::max(worst, std::abs(s));
    }
  return worst;
}

/// Largest value of f(link) over all local links.
template <class F>
double largest_over_links(const GaugeField& U, const F& f) {
  const auto& inner = U.layout().inner();
  std::vector<double> worst(inner.size(), 0.0);
  for_each_index(int(inner.size()), [&](int i) {
    for (int lane = 0; lane < U.lanes(); ++lane)
      for (int mu = 0; mu < Nd; ++mu)
        worst[i] = std::max(worst[i], f(U.link(U.layout().coord(inner[i], lane), mu)));
  });
  double w = 0;
  for (const double x : worst) w = std::max(w, x);
  return U.lattice().communicator().maximum(w);
}

double largest_component(const Link& U) {
  double largest = 0;
  for (const auto& u : U) largest = std::max({largest, std::fabs(u.real()), std::fabs(u.imag())});
  return largest;
}
}  // namespace

double largest_su3_violation(const GaugeField& U) { return largest_over_links(U, violation); }

HopLinks::HopLinks(const GaugeField& U, Precision precision, int link_reals, Backend backend, int lanes)
    : lattice_{U.lattice_ptr()}, precision_{precision}, backend_{backend}, link_reals_{link_reals} {
  TRELLIS_REQUIRE(link_reals == 18 || link_reals == 12, "links of ", link_reals,
                  " reals are not among 18, 12");
  if (link_reals == 12) {
    const double worst = largest_su3_violation(U);
    const double allowed = precision == Precision::double_precision ? 1e-10 : 1e-5;
    if (worst > allowed)
      throw BadArgument(message("links violate SU(3) by ", worst, " (allowed ", allowed,
                                "): they cannot be stored as 12 reals, use 18"));
  }
  if (backend != Backend::cpu) lanes = 1;
  layout_ = lattice_->layout(lanes == 0 ? native_lanes(precision) : lanes);
  const double largest =
      precision == Precision::half_precision ? largest_over_links(U, largest_component) : 0;
  const int blocks = backend == Backend::cpu ? layout_->blocks() : (layout_->blocks() + 31) / 32 * 32;
  const size_t sites = size_t(blocks) * layout_->lanes();
  const size_t element = precision == Precision::double_precision   ? 8
                         : precision == Precision::single_precision ? 4
                                                                    : 2;
  data_bytes_ = (sites * Nd * link_reals * element + 63) / 64 * 64;
  scale_bytes_ = largest > 1.0 + 1e-6 ? (sites * Nd * sizeof(float) + 63) / 64 * 64 : 0;
  memory_ = Memory(2 * (data_bytes_ + scale_bytes_));
  fill(U);
  if (backend == Backend::cuda) {  // built on the host in the GPU layout
    Memory on_device(memory_.bytes(), backend);
    on_device.copy_from_host(memory_.data(), memory_.bytes());
    memory_ = std::move(on_device);
  }
}

RawField HopLinks::raw(int parity) const {
  char* p =
      const_cast<char*>(static_cast<const char*>(memory_.data())) + parity * (data_bytes_ + scale_bytes_);
  return {p, scale_bytes_ > 0 ? reinterpret_cast<float*>(p + data_bytes_) : nullptr, Nd};
}

void HopLinks::fill(const GaugeField& U) {
  const int W = layout_->lanes(), n = link_reals_;
  const bool is_cpu = backend_ == Backend::cpu;
  for (int parity = 0; parity < 2; ++parity) {
    const RawField field = raw(parity);
    for_each_index(layout_->blocks(), [&](int block) {
      for (int lane = 0; lane < W; ++lane)
        for (int mu = 0; mu < Nd; ++mu) {
          const Link link = U.link(layout_->coord({parity, block, lane}), mu);
          float s = 1.0f;
          if (field.scale) {
            s = float(largest_component(link));
            field.scale[is_cpu ? (size_t(block) * Nd + mu) * W + lane
                               : (size_t(block / 32) * Nd + mu) * 32 + block % 32] = s;
          }
          for (int i = 0; i < n; ++i) {
            const double value = i % 2 ? link[i / 2].imag() : link[i / 2].real();
            const int vector = precision_ == Precision::double_precision   ? 2
                               : precision_ == Precision::single_precision ? 4
                                                                           : 8;
            const size_t at = is_cpu ? ((size_t(block) * Nd + mu) * n + i) * W + lane
                                     : (size_t(block / 32) * Nd + mu) * n * 32 +
                                           gpu_component_offset(i, n, block % 32, vector);
            if (precision_ == Precision::double_precision)
              static_cast<double*>(field.data)[at] = value;
            else if (precision_ == Precision::single_precision)
              static_cast<float*>(field.data)[at] = float(value);
            else
              store_fixed(static_cast<int16_t*>(field.data) + at,
                          std::clamp(float(value) / s, -1.0f, 1.0f) * 32767.0f);
          }
        }
    });
  }
}

}  // namespace trellis
