/// The Polyakov loop is a product along a line that ranks may share: the rank with x_mu = 0 begins, and the
/// products travel up the line. Link by link in fixed order, so the bits do not depend on the grid.
#include <cstring>
#include <limits>
#include <vector>

#include "trellis/algebra/color.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/gauge/loops.hpp"

namespace trellis {

namespace {
ColorMatrix<double> as_matrix(const Link& U) {
  ColorMatrix<double> matrix;
  static_assert(sizeof(matrix) == sizeof(U));
  std::memcpy(&matrix, U.data(), sizeof(matrix));
  return matrix;
}

/// Returns the coordinates of the i-th site of the slice x_mu = 0.
Coord slice_coord(int i, Coord extents, int mu) {
  extents[mu] = 1;
  return site_coord(i, extents);
}

/// Ranks with the last coordinate hold the products along the whole line, and others those of a part of
/// it.
std::vector<ColorMatrix<double>> line_products(const GaugeField& U, int mu) {
  const Geometry& geometry = U.geometry();
  const int sites = int(geometry.local_volume() / geometry.local()[mu]);
  std::vector<ColorMatrix<double>> line(sites, identity_matrix<double>());
  const auto transfer = [&](int step) {
    const Message message{geometry.neighbour_rank(mu, step), 0, line.data(), line.size() * sizeof(line[0])};
    using Messages = std::vector<Message>;
    const auto exchange = U.lattice().communicator().make_exchange(step > 0 ? Messages{message} : Messages{},
                                                                   step > 0 ? Messages{} : Messages{message});
    exchange->start();
    exchange->wait();
  };
  const bool is_first = geometry.origin()[mu] == 0;
  const bool is_last = geometry.origin()[mu] + geometry.local()[mu] == geometry.lattice()[mu];
  if (!is_first) transfer(-1);
  for_each_index(sites, [&](int i) {
    Coord x = slice_coord(i, geometry.local(), mu);
    for (x[mu] = 0; x[mu] < geometry.local()[mu]; ++x[mu]) line[i] = line[i] * as_matrix(U.link(x, mu));
  });
  if (!is_last) transfer(1);
  return line;
}

std::complex<double> polyakov_loop_on_host(const GaugeField& U, int mu) {
  TRELLIS_REQUIRE(mu >= 0 && mu < Nd, "direction ", mu);
  const Geometry& geometry = U.geometry();
  if (geometry.lattice()[mu] == 1) {  // no hop leads around the lattice
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  const std::vector<ColorMatrix<double>> lines = line_products(U, mu);
  ExactSum sums[2];
  if (geometry.origin()[mu] + geometry.local()[mu] == geometry.lattice()[mu])
    for (const auto& line : lines) {
      const Complex<double> loop = trace(line);
      sums[0].add(loop.re / 3);
      sums[1].add(loop.im / 3);
    }
  U.lattice().communicator().sum(sums, 2);
  const double sites = double(geometry.volume() / geometry.lattice()[mu]);
  return {sums[0].value() / sites, sums[1].value() / sites};
}
}  // namespace

std::complex<double> polyakov_loop(const GaugeField& U, int mu) {
  return on_host(U, [&](const GaugeField& links) { return polyakov_loop_on_host(links, mu); });
}

}  // namespace trellis
