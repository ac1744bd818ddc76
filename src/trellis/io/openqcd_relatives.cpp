/// Files that begin as openQCD's and have its size, but are none that can be read, are named here for what
/// they are.
#include <cmath>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/io/gauge_format.hpp"
#include "trellis/io/link_checks.hpp"
#include "trellis/io/text.hpp"

namespace trellis::io {

namespace {

/// Programs may add the plaquettes in another order and precision; those of another order of links differ by
/// far more.
constexpr double plaquette_tolerance = 1e-8;
/// A few damaged links change the plaquette by less.
constexpr double damage = 1e-3;

/// It counts the links U_t at the last time slice, and those that are zero there and elsewhere, on all ranks.
struct ZeroLinks {
  double last_slice = 0, at_last_slice = 0, elsewhere = 0;
};

ZeroLinks count_zero_links(Communicator& communicator, const Geometry& geometry, const double* links) {
  ExactSum sums[3];
  for (int64_t i = 0; i < geometry.local_volume() * Nd; ++i) {
    const int t = geometry.to_global(site_coord(i / Nd, geometry.local()))[3];
    const bool is_last = i % Nd == 3 && t == geometry.lattice()[3] - 1;
    if (is_last) sums[0].add(1.0);
    const double* const link = links + size_t(i) * link_reals;
    bool is_zero = true;
    for (size_t k = 0; k < link_reals; ++k) is_zero = is_zero && link[k] == 0.0;
    if (is_zero) sums[is_last ? 1 : 2].add(1.0);
  }
  communicator.sum(sums, 3);
  return {sums[0].value(), sums[1].value(), sums[2].value()};
}

/// Recognises a Schroedinger functional: the spatial links at t = 0 are diagonal, the same at all sites of
/// the slice.
bool has_fixed_first_slice(Communicator& communicator, const Geometry& geometry, const double* links) {
  bool has_others = false;
  for (int64_t i = 0; i < geometry.local_volume() * Nd; ++i) {
    if (i % Nd == 3 || geometry.to_global(site_coord(i / Nd, geometry.local()))[3] != 0) continue;
    const double* const link = links + size_t(i) * link_reals;
    for (size_t k = 0; k < link_reals; ++k)
      has_others = has_others || (k / 2 % 4 != 0 && std::abs(link[k]) > unitarity_tolerance);
  }
  return !communicator.any(has_others);
}

}  // namespace

void refuse_relatives_of_openqcd(InputFile& file, GaugeFileHeader& header, const GaugeField& U,
                                 const double* links) {
  const FileReport& report = header.report;
  Communicator& communicator = file.communicator();
  const Geometry& geometry = U.geometry();
  const bool is_big = header.order == ByteOrder::big;
  const std::string order = is_big ? "big-endian" : "little-endian", &path = file.path();
  if (report.ok())  // and it is big-endian
    throw FileError(path +
                    " is an openQCD file in big-endian byte order, which is not read: openQCD writes "
                    "little-endian on every machine");
  const ZeroLinks zero = count_zero_links(communicator, geometry, links);
  if (zero.at_last_slice == zero.last_slice && zero.elsewhere == 0)
    throw FileError(message(path, " is an openQCD file with open boundary conditions in time (its ",
                            int64_t(zero.last_slice), " time-like links at t = ", geometry.lattice()[3] - 1,
                            " are zero), which is not read: links here are periodic"));
  const auto& plaquette_report = report.values.at(0);
  if (report.values.back().ok()) {
    std::vector<double> others(U.canonical_size());
    read_as_ddalphaamg(file, header, geometry, others.data());
    GaugeField V(U.lattice_ptr());
    V.from_canonical(others.data());
    const double found = plaquette(V);
    if (std::abs(found - plaquette_report.expected) <= plaquette_tolerance)
      throw FileError(
          message(path, " is a raw configuration of DDalphaAMG (", order,
                  ": T, Z, Y, X, the plaquette, then at each site the links in t, z, y, x), which is "
                  "not read; in this order its plaquette is that of the header, ",
                  readable(plaquette_report.expected), ", and in openQCD's it is ",
                  readable(plaquette_report.found)));
    if (has_fixed_first_slice(communicator, geometry, links))
      throw FileError(
          message(path,
                  " looks like an openQCD file with Schroedinger-functional boundary conditions in "
                  "time (its spatial links at t = 0 are diagonal), which is not read: links here are "
                  "periodic"));
    if (std::abs(plaquette_report.found - plaquette_report.expected) > damage)
      header.report.warnings.push_back(message("DDalphaAMG's raw files begin alike, but the plaquette is ",
                                               readable(found),
                                               " in their order of links, which is not the header's either"));
  }
  if (is_big)
    throw FileError(
        message(path,
                " begins as a big-endian file of DDalphaAMG or openQCD, and is not read; it may be "
                "damaged: the header's plaquette is ",
                readable(plaquette_report.expected), ", the links' is another one in both orders"));
}

}  // namespace trellis::io
