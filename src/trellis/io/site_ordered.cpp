/// ILDG, SciDAC, NERSC and MILC store links as [t][z][y][x][mu][row][column][re, im].
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/io/link_checks.hpp"
#include "trellis/io/site_ordered.hpp"

namespace trellis::io {

void SiteChecksums::add(const std::byte* data, size_t bytes, int64_t global_index) {
  switch (format_) {
    case GaugeFormat::nersc:
    case GaugeFormat::nersc_two_row:
      nersc_.add(data, bytes, order_);
      nersc_swapped_.add(data, bytes, order_ == ByteOrder::big ? ByteOrder::little : ByteOrder::big);
      break;
    case GaugeFormat::milc:
      milc_.add(data, bytes, global_index * int64_t(bytes / 4), order_);
      break;
    default:
      scidac_.add(data, bytes, global_index);
  }
}

std::vector<uint32_t> SiteChecksums::merged(Communicator& communicator) {
  switch (format_) {
    case GaugeFormat::nersc:
    case GaugeFormat::nersc_two_row:
      nersc_.merge(communicator);
      nersc_swapped_.merge(communicator);
      return {nersc_.value()};
    case GaugeFormat::milc:
      milc_.merge(communicator);
      return {milc_.sum29(), milc_.sum31()};
    default:
      scidac_.merge(communicator);
      return {scidac_.a(), scidac_.b()};
  }
}

std::vector<std::string> checksum_kinds(GaugeFormat format) {
  switch (format) {
    case GaugeFormat::nersc:
    case GaugeFormat::nersc_two_row:
      return {"nersc"};
    case GaugeFormat::milc:
      return {"milc_29", "milc_31"};
    default:
      return {"scidac_a", "scidac_b"};
  }
}

namespace {

/// Sets the third row of a link of SU(3): the conjugate of the cross product of the first two.
void complete_third_row(double* link) {
  for (int c = 0; c < 3; ++c) {
    const int p = (c + 1) % 3, q = (c + 2) % 3;
    const double *a = link, *b = link + 6;
    const double re = (a[2 * p] * b[2 * q] - a[2 * p + 1] * b[2 * q + 1]) -
                      (a[2 * q] * b[2 * p] - a[2 * q + 1] * b[2 * p + 1]);
    const double im = (a[2 * p] * b[2 * q + 1] + a[2 * p + 1] * b[2 * q]) -
                      (a[2 * q] * b[2 * p + 1] + a[2 * q + 1] * b[2 * p]);
    link[12 + 2 * c] = re;
    link[12 + 2 * c + 1] = -im;
  }
}

void decode_site(const std::byte* in, double* site, int rows, RealFormat format) {
  if (rows == 3) {
    decode_reals(in, site, site_reals, format);
    return;
  }
  for (size_t mu = 0; mu < Nd; ++mu)
    decode_link(in + mu * 12 * format.bytes(), site + mu * link_reals, rows, format);
}

void encode_site(const double* site, std::byte* out, int rows, RealFormat format) {
  const size_t reals = size_t(rows) * 6;
  for (size_t mu = 0; mu < Nd; ++mu)
    encode_reals(site + mu * link_reals, out + mu * reals * format.bytes(), reals, format);
}

SiteChecksums read_once(InputFile& file, const GaugeFileHeader& header, const Geometry& geometry,
                        double* links) {
  SiteChecksums checksums(header.report.format, header.order);
  const size_t bytes = header.bytes_per_site();
  read_sites(file, header.data_offset, geometry, bytes,
             [&](int64_t first, int64_t sites, const std::byte* data) {
               for (int64_t i = 0; i < sites; ++i) {
                 const std::byte* site = data + size_t(i) * bytes;
                 checksums.add(site, bytes, geometry.global_index(site_coord(first + i, geometry.local())));
                 decode_site(site, links + size_t(first + i) * site_reals, header.rows, header.real_format());
               }
             });
  return checksums;
}

/// Settles the order of NERSC files that state neither byte order nor checksum: it is the one in which links
/// are SU(3).
void settle_order(InputFile& file, GaugeFileHeader& header) {
  const int bits = header.report.precision_bits;
  const int64_t big = sample_links(file, header, {bits, ByteOrder::big}).special_unitary,
                little = sample_links(file, header, {bits, ByteOrder::little}).special_unitary;
  header.order = big > little ? ByteOrder::big : ByteOrder::little;
  header.report.warnings.push_back(
      message("the byte order is not stated; taken to be ", big > little ? "big" : "little", "-endian, ",
              big == little ? "though links are SU(3) in neither order" : "in which links are SU(3)"));
}

}  // namespace

void decode_link(const std::byte* in, double* link, int rows, RealFormat format) {
  decode_reals(in, link, size_t(rows) * 6, format);
  if (rows == 2) complete_third_row(link);
}

void read_site_ordered(InputFile& file, GaugeFileHeader& header, const Geometry& geometry, double* links) {
  if (!header.order_is_stated && !header.report.checksums.at(0).stored) settle_order(file, header);
  SiteChecksums checksums = read_once(file, header, geometry, links);
  std::vector<uint32_t> computed = checksums.merged(file.communicator());
  auto& reports = header.report.checksums;
  // A NERSC file with 'IEEE32' alone leaves the byte order open, and the checksum decides; a wrong statement
  // is explained.
  const bool fits_other_order = reports.size() == 1 && reports[0].stored &&
                                reports[0].stored != computed[0] &&
                                reports[0].stored == checksums.nersc_of_other_order();
  if (fits_other_order && !header.order_is_stated) {
    header.order = header.order == ByteOrder::big ? ByteOrder::little : ByteOrder::big;
    checksums = read_once(file, header, geometry, links);
    computed = checksums.merged(file.communicator());
  } else if (fits_other_order) {
    header.report.warnings.emplace_back(
        "the checksum fits the other byte order: FLOATING_POINT names the wrong one");
  }
  for (size_t i = 0; i < reports.size(); ++i) reports[i].computed = computed[i];
}

std::vector<uint32_t> write_site_ordered(OutputFile& file, int64_t offset, const LinksToWrite& links,
                                         int rows, GaugeFormat format) {
  const size_t bytes = Nd * size_t(rows) * 6 * links.real_format.bytes();
  const Geometry& geometry = links.geometry;
  SiteChecksums checksums(format, links.real_format.order);
  write_sites(file, offset, geometry, bytes, [&](int64_t first, int64_t sites, std::byte* data) {
    for (int64_t i = 0; i < sites; ++i) {
      std::byte* site = data + size_t(i) * bytes;
      encode_site(links.links + size_t(first + i) * site_reals, site, rows, links.real_format);
      checksums.add(site, bytes, geometry.global_index(site_coord(first + i, geometry.local())));
    }
  });
  return checksums.merged(file.communicator());
}

}  // namespace trellis::io
