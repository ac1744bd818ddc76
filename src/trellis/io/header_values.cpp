#include "trellis/io/header_values.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "trellis/device/threads.hpp"

namespace trellis::io {

namespace {

using Complex = std::complex<double>;
using Matrix = std::array<Complex, 9>;

Matrix load(const double* link, size_t stride = 1) {
  Matrix U;
  for (size_t k = 0; k < 9; ++k) U[k] = {link[2 * k * stride], link[(2 * k + 1) * stride]};
  return U;
}

Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Matrix product_of(const Matrix& a, const Matrix& b) {
  Matrix c;
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      c[3 * i + j] = times(a[3 * i], b[j]) + times(a[3 * i + 1], b[3 + j]) + times(a[3 * i + 2], b[6 + j]);
  return c;
}

/// Re tr a b^dagger
double real_trace_adjoint(const Matrix& a, const Matrix& b) {
  double sum = 0.0;
  for (size_t k = 0; k < 9; ++k) sum += a[k].real() * b[k].real() + a[k].imag() * b[k].imag();
  return sum;
}

/// Links of a gauge field by block and lane, with steps forward.
class LinkReader {
 public:
  explicit LinkReader(const GaugeField& U)
      : data_{static_cast<const double*>(U.raw().data)}, tables_{U.tables()}, lanes_{size_t(U.lanes())} {}
  struct Place {
    int block, lane;
  };
  Matrix link(Place p, int mu) const {
    return load(data_ + (size_t(p.block) * Nd + size_t(mu)) * 18 * lanes_ + size_t(p.lane), lanes_);
  }
  Place forward(Place p, int mu) const {
    const int32_t entry = tables_.neighbours[size_t(p.block) * 8 + size_t(2 * mu)];
    if (entry & 1) p.lane = tables_.permutations[16 * tables_.shift[2 * mu] + p.lane];
    return {entry >> 1, p.lane};
  }

 private:
  const double* data_;
  ExtendedTables tables_;
  size_t lanes_;
};

/// Sums over planes and directions at one site of Re tr P and Re tr U.
std::array<double, 2> sums_at(const LinkReader& reader, LinkReader::Place x) {
  double plaquettes = 0.0, traces = 0.0;
  for (int mu = 0; mu < Nd; ++mu) {
    const Matrix U = reader.link(x, mu);
    traces += U[0].real() + U[4].real() + U[8].real();
    for (int nu = 0; nu < mu; ++nu) {
      const Matrix around = product_of(U, reader.link(reader.forward(x, mu), nu));
      const Matrix back = product_of(reader.link(x, nu), reader.link(reader.forward(x, nu), mu));
      plaquettes += real_trace_adjoint(around, back);
    }
  }
  return {plaquettes, traces};
}

double violation_of(const Matrix& U) {
  double largest = 0.0;
  const auto include = [&](double x) { largest = x >= 0.0 ? std::max(largest, x) : std::numeric_limits<double>::infinity(); };
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j <= i; ++j) {
      Complex sum = i == j ? -1.0 : 0.0;
      for (size_t k = 0; k < 3; ++k) sum += times(U[3 * i + k], std::conj(U[3 * j + k]));
      include(std::abs(sum));
    }
  Complex det = -1.0;
  for (size_t i = 0; i < 3; ++i) {
    const size_t j = (i + 1) % 3, k = (i + 2) % 3;
    det += times(U[i], times(U[3 + j], U[6 + k]) - times(U[3 + k], U[6 + j]));
  }
  include(std::abs(det));
  return largest;
}

}  // namespace

HeaderValues header_values(const GaugeField& U) {
  U.update_halo();
  const LinkReader reader(U);
  const std::vector<int32_t>& inner = U.layout().inner();
  std::vector<std::array<ExactSum, 2>> of_thread(size_t(thread_count()) * 4);
  const int parts = int(of_thread.size());
  for_each_index(parts, [&](int part) {
    const size_t first = inner.size() * size_t(part) / size_t(parts), last = inner.size() * size_t(part + 1) / size_t(parts);
    for (size_t i = first; i < last; ++i)
      for (int lane = 0; lane < U.lanes(); ++lane) {
        const auto [plaquettes, traces] = sums_at(reader, {inner[i], lane});
        of_thread[size_t(part)][0].add(plaquettes);
        of_thread[size_t(part)][1].add(traces);
      }
  });
  ExactSum sums[2];
  for (const auto& partial : of_thread)
    for (int k = 0; k < 2; ++k) sums[k].merge(partial[size_t(k)]);
  U.lattice().communicator().sum(sums, 2);
  const double volume = double(U.geometry().volume());
  return {sums[0].value() / (18.0 * volume), sums[1].value() / (12.0 * volume)};
}

double largest_unitarity_violation(const Geometry& geometry, const double* canonical_links, Communicator& communicator) {
  const int64_t links = geometry.local_volume() * Nd;
  const int parts = thread_count() * 4;
  std::vector<double> of_part(size_t(parts), 0.0);
  for_each_index(parts, [&](int part) {
    for (int64_t i = links * part / parts; i < links * (part + 1) / parts; ++i)
      of_part[size_t(part)] = std::max(of_part[size_t(part)], violation_of(load(canonical_links + i * 18)));
  });
  return communicator.maximum(*std::max_element(of_part.begin(), of_part.end()));
}

}  // namespace trellis::io
