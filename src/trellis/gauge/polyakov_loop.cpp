/// The Polyakov loop is a product along a line that ranks may share: the rank with x_mu = 0 begins, and the
/// products travel up the line. They grow link by link in fixed order, so the bits do not depend on the grid.
#include <cstring>
#include <limits>
#include <vector>

#include "trellis/algebra/color.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_device.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/kernels/gauge/polyakov_lines.hpp"

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

/// It holds products that travel up the lines, from rank to rank.
class LineMessages {
 public:
  LineMessages(const GaugeField& U, int mu) : U_{U}, mu_{mu} {}
  bool is_first() const { return geometry().origin()[mu_] == 0; }
  bool is_last() const {
    return geometry().origin()[mu_] + geometry().local()[mu_] == geometry().lattice()[mu_];
  }
  int lines() const { return int(geometry().local_volume() / geometry().local()[mu_]); }
  void receive(void* data, size_t bytes) const { transfer(-1, data, bytes); }
  void send(void* data, size_t bytes) const { transfer(1, data, bytes); }

 private:
  const Geometry& geometry() const { return U_.geometry(); }
  void transfer(int step, void* data, size_t bytes) const {
    const Message message{geometry().neighbour_rank(mu_, step), 0, data, bytes};
    using Messages = std::vector<Message>;
    const auto exchange = U_.lattice().communicator().make_exchange(
        step > 0 ? Messages{message} : Messages{}, step > 0 ? Messages{} : Messages{message});
    exchange->start();
    exchange->wait();
  }
  const GaugeField& U_;
  int mu_;
};

/// Ranks with the last coordinate add the traces of the whole lines.
void add_traces_on_host(const GaugeField& U, int mu, ExactSum* sums) {
  const Geometry& geometry = U.geometry();
  const LineMessages messages(U, mu);
  std::vector<ColorMatrix<double>> lines(size_t(messages.lines()), identity_matrix<double>());
  const size_t bytes = lines.size() * sizeof(lines[0]);
  if (!messages.is_first()) messages.receive(lines.data(), bytes);
  for_each_index(messages.lines(), [&](int i) {
    Coord x = slice_coord(i, geometry.local(), mu);
    for (x[mu] = 0; x[mu] < geometry.local()[mu]; ++x[mu]) lines[i] = lines[i] * as_matrix(U.link(x, mu));
  });
  if (!messages.is_last()) return messages.send(lines.data(), bytes);
  for (const auto& line : lines) {
    const Complex<double> loop = trace(line);
    sums[0].add(loop.re / 3);
    sums[1].add(loop.im / 3);
  }
}

/// Does the same where the links lie on a GPU: only what travels is copied.
template <class Layout>
void add_traces_on_device(const GaugeField& U, int mu, ExactSum* sums) {
  const LineMessages messages(U, mu);
  Memory products = Memory::to_be_written(size_t(messages.lines()) * 18 * sizeof(double), U.backend());
  std::vector<double> travelling;
  PolyakovLinesCall call{U.raw(),
                         U.tables(),
                         U.site_tables().first_of_lines(mu).list,
                         static_cast<double*>(products.data()),
                         messages.lines(),
                         mu,
                         U.geometry().local()[mu],
                         messages.is_first()};
  if (!messages.is_first() || !messages.is_last()) travelling.resize(products.bytes() / sizeof(double));
  if (!messages.is_first()) {
    messages.receive(travelling.data(), products.bytes());
    products.copy_from_host(travelling.data(), products.bytes());
  }
  launch_polyakov_lines<Layout>(call);
  if (messages.is_last()) return launch_polyakov_traces<Layout>(call, sums);
  products.copy_to_host(travelling.data(), products.bytes());
  messages.send(travelling.data(), products.bytes());
}
}  // namespace

std::complex<double> polyakov_loop(const GaugeField& U, int mu) {
  TRELLIS_REQUIRE(mu >= 0 && mu < Nd, "direction ", mu);
  const Geometry& geometry = U.geometry();
  if (geometry.lattice()[mu] == 1) {  // no hop leads around the lattice
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  ExactSum sums[2];
  if (!on_device(U.backend(), [&]<class Layout>() { add_traces_on_device<Layout>(U, mu, sums); }))
    add_traces_on_host(U, mu, sums);
  U.lattice().communicator().sum(sums, 2);
  const double sites = double(geometry.volume() / geometry.lattice()[mu]);
  return {sums[0].value() / sites, sums[1].value() / sites};
}

}  // namespace trellis
