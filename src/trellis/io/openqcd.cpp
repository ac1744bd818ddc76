/// openQCD has N0 (t), N1 (x), N2 (y), N3 (z) as 32-bit integers, the mean of Re tr P (3 on the unit field),
/// then for each odd site, z fastest, then y, x, t, the 8 links +t -t +x -x +y -y +z -z: U_mu(x) and U_mu(x -
/// mu). All is little-endian, double precision.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/io/gauge_format.hpp"

namespace trellis::io {

namespace {

constexpr int64_t openqcd_header_bytes = 24, link_bytes = 144, site_bytes = 8 * link_bytes;
constexpr int direction_slot[Nd] = {1, 2, 3, 0};  ///< x y z t have these places in the file's order t x y z
constexpr RealFormat real_format{64, ByteOrder::little};
/// Raw files of DDalphaAMG have the axes of openQCD's names in `ddalphaamg`, and their own in `x_fastest`.
enum class LinkOrder { openqcd, ddalphaamg, x_fastest };
/// This number of sites tells openQCD's order of links from DDalphaAMG's: the mean plaquette in a wrong order
/// is 0 to 0.24 / sqrt(6 sites), and in the right one it is that of the header to about as much.
constexpr int sampled_sites = 16;
constexpr double clearly_another = 0.1;
/// Programs may add the plaquettes in another order and precision.
constexpr double ddalphaamg_tolerance = 1e-8;

std::array<int64_t, 4> extents_of(InputFile& file, ByteOrder order) {
  std::byte bytes[16];
  file.read_common(0, sizeof bytes, bytes);
  std::array<int64_t, 4> extents;
  for (int mu = 0; mu < Nd; ++mu)
    extents[size_t(mu)] = int32_t(load_u32(bytes + 4 * direction_slot[mu], order));
  return extents;
}

/// Returns the size that a file with these extents has, or -1 if they are no lattice.
int64_t expected_bytes(const std::array<int64_t, 4>& extents) {
  int64_t sites = 1;
  for (const int64_t extent : extents) {
    if (extent < 2 || extent % 2 != 0 || extent > 8192) return -1;
    sites *= extent;
  }
  return openqcd_header_bytes + sites * Nd * link_bytes;
}

int64_t file_site(const Coord& x, const Coord& lattice) {
  return x[2] + lattice[2] * (x[1] + lattice[1] * (x[0] + int64_t(lattice[0]) * x[3]));
}

/// Returns where the file has the link U_mu(x), x in global coordinates.
int64_t link_offset(Coord x, int mu, const Coord& lattice, LinkOrder order) {
  if (order == LinkOrder::x_fastest) {
    const int64_t site = x[0] + lattice[0] * (x[1] + lattice[1] * (x[2] + int64_t(lattice[2]) * x[3]));
    return openqcd_header_bytes + (site * Nd + (Nd - 1 - mu)) * link_bytes;
  }
  if (order == LinkOrder::ddalphaamg)
    return openqcd_header_bytes + (file_site(x, lattice) * Nd + direction_slot[mu]) * link_bytes;
  const bool is_backward = site_parity(x) == 0;  // then it is stored with the odd site x + mu
  if (is_backward) x[mu] = (x[mu] + 1) % lattice[mu];
  return openqcd_header_bytes + (file_site(x, lattice) / 2) * site_bytes +
         (2 * direction_slot[mu] + (is_backward ? 1 : 0)) * link_bytes;
}

struct StoredLink {
  int64_t offset;  ///< the link has it in the file
  int64_t link;    ///< it is the canonical index, site * 4 + mu
};

/// Calls body(links sorted by offset) for slabs of whole local time slices.
template <class Body>
void for_each_slab(const Geometry& geometry, LinkOrder order, const Body& body) {
  constexpr int64_t sites_per_slab = 1 << 16;
  const Coord& local = geometry.local();
  const int64_t slice = geometry.local_volume() / local[3];
  const int64_t step = slice * std::max<int64_t>(1, sites_per_slab / slice);
  std::vector<StoredLink> stored;
  for (int64_t first = 0; first < geometry.local_volume(); first += step) {
    stored.clear();
    const int64_t last = std::min(geometry.local_volume(), first + step);
    for (int64_t site = first; site < last; ++site) {
      const Coord x = geometry.to_global(site_coord(site, local));
      for (int mu = 0; mu < Nd; ++mu)
        stored.push_back({link_offset(x, mu, geometry.lattice(), order), site * Nd + mu});
    }
    std::sort(stored.begin(), stored.end(),
              [](const StoredLink& a, const StoredLink& b) { return a.offset < b.offset; });
    body(stored);
  }
}

std::vector<Piece> pieces_of(const std::vector<StoredLink>& stored) {
  std::vector<Piece> pieces;
  pieces.reserve(stored.size());
  for (const StoredLink& s : stored) pieces.push_back({s.offset, link_bytes});
  return pieces;
}

void read_in_order(InputFile& file, const GaugeFileHeader& header, const Geometry& geometry, LinkOrder order,
                   double* links) {
  std::vector<std::byte> bytes;
  for_each_slab(geometry, order, [&](const std::vector<StoredLink>& stored) {
    bytes.resize(stored.size() * link_bytes);
    file.read_pieces(pieces_of(stored), bytes.data());
    for (size_t i = 0; i < stored.size(); ++i)
      decode_reals(bytes.data() + i * link_bytes, links + size_t(stored[i].link) * link_reals, link_reals,
                   header.real_format());
  });
}

using Matrix = std::array<std::complex<double>, 9>;

Matrix link_at(InputFile& file, const Coord& x, int mu, const Coord& lattice, LinkOrder order,
               ByteOrder bytes) {
  std::byte stored[link_bytes];
  double reals[link_reals];
  file.read_common(link_offset(x, mu, lattice, order), link_bytes, stored);
  decode_reals(stored, reals, link_reals, {64, bytes});
  Matrix link;
  for (size_t k = 0; k < link.size(); ++k) link[k] = {reals[2 * k], reals[2 * k + 1]};
  return link;
}

Matrix product_of(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 3; ++k) c[3 * i + j] += a[3 * i + k] * b[3 * k + j];
  return c;
}

/// Returns the mean of Re tr P / 3 at some sites, with links in this order.
double sampled_plaquette(InputFile& file, const Coord& lattice, LinkOrder order, ByteOrder bytes) {
  double sum = 0;
  for (int n = 0; n < sampled_sites; ++n) {
    Coord x;
    for (int mu = 0; mu < Nd; ++mu) x[mu] = (5 * n + 3 * n * n * (mu + 1) + mu) % lattice[mu];
    const auto next = [&](int mu) {
      Coord y = x;
      y[mu] = (y[mu] + 1) % lattice[mu];
      return y;
    };
    for (int mu = 0; mu < Nd; ++mu)
      for (int nu = mu + 1; nu < Nd; ++nu) {
        const Matrix there = product_of(link_at(file, x, mu, lattice, order, bytes),
                                        link_at(file, next(mu), nu, lattice, order, bytes));
        const Matrix back = product_of(link_at(file, x, nu, lattice, order, bytes),
                                       link_at(file, next(nu), mu, lattice, order, bytes));
        for (size_t k = 0; k < there.size(); ++k) sum += (there[k] * std::conj(back[k])).real() / 3;
      }
  }
  return sum / (6.0 * sampled_sites);
}

/// Tells by the plaquette at some sites whether the links are in DDalphaAMG's order. Where the plaquette
/// cannot tell, it is false.
bool has_order_of_ddalphaamg(InputFile& file, const GaugeFileHeader& header) {
  const double stated = header.report.values.at(0).expected;
  const auto distance = [&](LinkOrder order) {
    return std::abs(sampled_plaquette(file, header.report.lattice, order, header.order) - stated);
  };
  const double of_openqcd = distance(LinkOrder::openqcd);
  return of_openqcd > clearly_another && distance(LinkOrder::ddalphaamg) < 0.5 * of_openqcd;
}

ByteOrder order_of(InputFile& file) {
  const bool is_little = expected_bytes(extents_of(file, ByteOrder::little)) == file.size();
  return is_little ? ByteOrder::little : ByteOrder::big;
}

}  // namespace

bool is_openqcd(InputFile& file) {
  if (file.size() < openqcd_header_bytes) return false;
  return expected_bytes(extents_of(file, order_of(file))) == file.size();
}

std::string why_not_openqcd(InputFile& file) {
  if (file.size() < openqcd_header_bytes) return "";
  const std::array<int64_t, 4> extents = extents_of(file, ByteOrder::little);
  const int64_t expected = expected_bytes(extents);
  if (expected > file.size())
    throw FileError(message(file.path(), " is truncated: openQCD's header says ",
                            to_string({int(extents[0]), int(extents[1]), int(extents[2]), int(extents[3])}),
                            ", which needs ", expected, " bytes; ", file.size(), " are there"));
  if (expected > 0) return message("; as an openQCD file it would have ", expected, " bytes");
  if (expected_bytes(extents_of(file, ByteOrder::big)) > 0)
    return "; it looks like an openQCD file in the wrong (big-endian) byte order";
  return "";
}

GaugeFileHeader inspect_openqcd(InputFile& file, const ReadOptions& options) {
  GaugeFileHeader header;
  header.report.format = GaugeFormat::openqcd;
  header.order = order_of(file);
  header.report.lattice = checked_lattice(file, extents_of(file, header.order), Nd * link_bytes);
  header.data_offset = openqcd_header_bytes;
  std::byte plaquette[8];
  file.read_common(16, sizeof plaquette, plaquette);
  // openQCD itself allows this for the rounding of two different sums of 6 V plaquettes. The format has no
  // other check.
  const double tolerance = std::sqrt(6.0 * double(product(header.report.lattice))) * DBL_EPSILON;
  header.report.values.push_back({"plaquette", load_f64(plaquette, header.order) / 3.0, 0.0, tolerance});
  header.report.warnings.emplace_back("the format has no checksum");
  if (has_order_of_ddalphaamg(file, header)) {
    header.report.format = GaugeFormat::ddalphaamg;
    std::swap(header.report.lattice[0], header.report.lattice[2]);  // its extents are T, Z, Y, X
    header.report.values.back().tolerance = ddalphaamg_tolerance;
  }
  require_same_lattice(file, header.report.lattice, options);
  return header;
}

void read_openqcd(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links) {
  read_in_order(file, header, geometry, LinkOrder::openqcd, links);
}

void read_ddalphaamg(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links) {
  read_in_order(file, header, geometry, LinkOrder::x_fastest, links);
}

void read_as_ddalphaamg(InputFile& file, const GaugeFileHeader& header, const Geometry& geometry,
                        double* links) {
  read_in_order(file, header, geometry, LinkOrder::ddalphaamg, links);
}

int64_t write_openqcd(OutputFile& file, const LinksToWrite& links) {
  const Coord& lattice = links.geometry.lattice();
  std::byte header[openqcd_header_bytes];
  for (int mu = 0; mu < Nd; ++mu)
    store_u32(header + 4 * direction_slot[mu], uint32_t(lattice[size_t(mu)]), ByteOrder::little);
  store_f64(header + 16, 3.0 * links.plaquette, ByteOrder::little);
  file.write_common(0, header, openqcd_header_bytes);
  std::vector<std::byte> bytes;
  for_each_slab(links.geometry, LinkOrder::openqcd, [&](const std::vector<StoredLink>& stored) {
    bytes.resize(stored.size() * link_bytes);
    for (size_t i = 0; i < stored.size(); ++i)
      encode_reals(links.links + size_t(stored[i].link) * link_reals, bytes.data() + i * link_bytes,
                   link_reals, real_format);
    file.write_pieces(pieces_of(stored), bytes.data());
  });
  return openqcd_header_bytes + product(lattice) * Nd * link_bytes;
}

}  // namespace trellis::io
