#include "trellis/io/link_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/io/site_ordered.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

using Complex = std::complex<double>;

Complex entry(const double* link, int row, int column) {
  const double* at = link + 2 * (3 * row + column);
  return {at[0], at[1]};
}

/// Returns the largest |(U U^dagger - 1)_ij| and |u_3 - (u_1 x u_2)^*|, u_i the rows (so det U = 1), or
/// infinity where something is not finite.
double violation(const double* link) {
  double worst = 0.0;
  const auto note = [&](const Complex& z) {
    const double size = std::abs(z);
    worst = std::isfinite(size) ? std::max(worst, size) : HUGE_VAL;
  };
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      Complex sum = i == j ? -1.0 : 0.0;
      for (int k = 0; k < 3; ++k) sum += entry(link, i, k) * std::conj(entry(link, j, k));
      note(sum);
    }
    const int p = (i + 1) % 3, q = (i + 2) % 3;
    note(entry(link, 2, i) -
         std::conj(entry(link, 0, p) * entry(link, 1, q) - entry(link, 0, q) * entry(link, 1, p)));
  }
  return worst;
}

bool is_special_unitary(const double* link) { return violation(link) <= unitarity_tolerance; }

/// Names the first number that is not finite, the largest where it is no entry of a unitary matrix, else how
/// far the link is from SU(3).
std::string contents(const double* link) {
  const double* bad = std::find_if(link, link + link_reals, [](double x) { return !std::isfinite(x); });
  if (bad == link + link_reals) {
    bad = std::max_element(link, link + link_reals,
                           [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (std::abs(*bad) < 2.0)
      return message("is ", readable(violation(link), 3), " away from unitarity or determinant 1");
  }
  const auto at = bad - link;
  return message("has ", readable(*bad), " in row ", at / 6 + 1, ", column ", at % 6 / 2 + 1,
                 at % 2 == 0 ? " (real part)" : " (imaginary part)");
}

const char* name_of_order(ByteOrder order) { return order == ByteOrder::big ? "big" : "little"; }

}  // namespace

std::string describe_bad_links(Communicator& communicator, const Geometry& geometry, const double* links) {
  const double none = std::ldexp(1.0, 52);
  double first = none;  // it is site * 4 + mu, exactly
  int64_t first_link = 0;
  ExactSum count;
  for (int64_t i = 0; i < geometry.local_volume() * Nd; ++i) {
    if (is_special_unitary(links + size_t(i) * link_reals)) continue;
    count.add(1.0);
    const auto index = double(geometry.global_index(site_coord(i / Nd, geometry.local())) * Nd + i % Nd);
    if (index < first) {
      first = index;
      first_link = i;
    }
  }
  communicator.sum(&count, 1);
  if (count.value() == 0.0) return "";
  const double first_of_all = communicator.minimum(first);
  const bool has_first = first == first_of_all;
  const int owner = int(communicator.maximum(has_first ? communicator.rank() : -1));
  char text[240] = {};
  if (has_first) {
    const Coord x = geometry.to_global(site_coord(first_link / Nd, geometry.local()));
    const std::string words = message("U_", "xyzt"[first_link % Nd], "(x=", x[0], ", y=", x[1], ", z=", x[2],
                                      ", t=", x[3], "), ", contents(links + size_t(first_link) * link_reals));
    std::memcpy(text, words.data(), std::min(words.size(), sizeof text - 1));
  }
  communicator.broadcast(text, sizeof text, owner);
  return message(int64_t(count.value()), " of ", geometry.volume() * Nd, " links are not SU(3); the first, ",
                 text);
}

LinkSample sample_links(InputFile& file, const GaugeFileHeader& header, RealFormat format) {
  constexpr int64_t most_bytes = int64_t(1) << 16;
  const int64_t link_bytes = header.rows * 6 * int64_t(format.bytes());
  LinkSample sample;
  sample.links = std::min(most_bytes, header.data_bytes()) / link_bytes;
  std::vector<std::byte> bytes(size_t(sample.links * link_bytes));
  file.read_common(header.data_offset, int64_t(bytes.size()), bytes.data());
  double link[link_reals];
  for (int64_t i = 0; i < sample.links; ++i) {
    decode_link(bytes.data() + i * link_bytes, link, header.rows, format);
    if (is_special_unitary(link)) ++sample.special_unitary;
  }
  return sample;
}

void explain_bad_links(InputFile& file, GaugeFileHeader& header, const Geometry& geometry,
                       const double* links) {
  std::vector<std::string>& warnings = header.report.warnings;
  const std::string bad = describe_bad_links(file.communicator(), geometry, links);
  if (!bad.empty()) warnings.push_back(bad);
  if (header.report.format == GaugeFormat::bridge_text) return;
  const RealFormat stored = header.real_format();
  const RealFormat swapped{stored.bits, stored.order == ByteOrder::big ? ByteOrder::little : ByteOrder::big};
  const RealFormat resized{96 - stored.bits, stored.order};
  if (sample_links(file, header, swapped).is_good())
    warnings.push_back(message("the data seem to be ", name_of_order(swapped.order),
                               "-endian, in which the first links are SU(3); expected ",
                               name_of_order(stored.order), "-endian"));
  else if (sample_links(file, header, resized).is_good()) {
    const bool is_lime =
        header.report.format == GaugeFormat::ildg || header.report.format == GaugeFormat::scidac;
    const int64_t sites = header.data_bytes() / (Nd * 18 * int64_t(resized.bytes()));
    warnings.push_back(message("the data seem to be numbers of ", resized.bits,
                               " bits, as which the first links are SU(3)",
                               is_lime ? message(": ", sites, " sites") : ""));
  }
}

}  // namespace trellis::io
