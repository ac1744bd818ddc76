#include "trellis/io/site_field_hdf5.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/io/checksums.hpp"

namespace trellis {

static_assert(std::endian::native == std::endian::little, "checksums are of little-endian numbers");

namespace {
const char* const checksum_attribute = "scidac_checksum";
const char* const norm_attribute = "norm2";
const char* const bits_attribute = "precision_bits";
constexpr int64_t sites_between_stops = 1 << 16;

size_t numbers_per_site(const hdf5::Dims& inner) {
  size_t numbers = 1;
  for (const int64_t extent : inner) numbers *= size_t(extent);
  return numbers;
}

std::string full_name(const hdf5::Group& group, const std::string& name) {
  return message(group.path() == "/" ? "" : group.path(), "/", name);
}

struct Check {
  uint32_t a, b;
  double norm2;
};

/// Returns the checksum of all ranks' numbers as the file stores them.
template <class Real>
Check check_of(const Lattice& lattice, const std::vector<std::complex<Real>>& local, size_t numbers) {
  const Geometry& geometry = lattice.geometry();
  io::ScidacChecksum checksum;
  ExactSum norm2;
  for (int64_t site = 0; site < geometry.local_volume(); ++site) {
    if (site % sites_between_stops == 0) stop_together(lattice.communicator());
    const std::complex<Real>* data = local.data() + size_t(site) * numbers;
    checksum.add(reinterpret_cast<const std::byte*>(data), numbers * sizeof(*data),
                 geometry.global_index(site_coord(site, geometry.local())));
    double sum = 0;
    for (size_t i = 0; i < numbers; ++i) {
      sum = std::fma(double(data[i].real()), double(data[i].real()), sum);
      sum = std::fma(double(data[i].imag()), double(data[i].imag()), sum);
    }
    norm2.add(sum);
  }
  checksum.merge(lattice.communicator());
  lattice.communicator().sum(&norm2, 1);
  return {checksum.a(), checksum.b(), norm2.value()};
}

template <class Real>
void write(hdf5::Group& group, const std::string& name, const Lattice& lattice,
           const std::complex<double>* local, const hdf5::Dims& inner) {
  const size_t numbers = numbers_per_site(inner);
  const std::vector<std::complex<Real>> stored(local,
                                               local + size_t(lattice.geometry().local_volume()) * numbers);
  const Check check = check_of(lattice, stored, numbers);
  TRELLIS_REQUIRE(std::isfinite(check.norm2), full_name(group, name), ": the field has a NaN or Inf",
                  sizeof(Real) == 4 ? ", or a number beyond single precision" : "");
  group.write_sites(name, lattice.geometry(), stored.data(), inner);
  group.set_attribute(bits_attribute, int64_t(8 * sizeof(Real)), name);
  group.set_attribute(checksum_attribute, std::vector<int64_t>{check.a, check.b}, name);
  group.set_attribute(norm_attribute, check.norm2, name);
}

void compare(const hdf5::Group& group, const std::string& name, const Check& found) {
  const std::string what = full_name(group, name);
  const auto sums = group.integer_attribute(checksum_attribute, name);
  const auto norm2 = group.real_attribute(norm_attribute, name);
  if (sums != std::vector<int64_t>{found.a, found.b}) {
    char text[96];
    std::snprintf(text, sizeof text, "expected %08x %08x, found %08x %08x",
                  unsigned(sums.empty() ? 0 : sums[0]), unsigned(sums.size() < 2 ? 0 : sums[1]), found.a,
                  found.b);
    throw ChecksumError(message(what, ": checksum: ", text));
  }
  // Both are exact sums of the same doubles, a site at a time.
  if (norm2.size() != 1 || norm2[0] != found.norm2)
    throw ChecksumError(message(what, ": norm2: expected ",
                                norm2.empty() ? std::numeric_limits<double>::quiet_NaN() : norm2[0],
                                ", found ", found.norm2));
}

template <class Real>
std::vector<std::string> read(const hdf5::Group& group, const std::string& name, const Lattice& lattice,
                              std::complex<double>* local, const hdf5::Dims& inner) {
  const size_t numbers = numbers_per_site(inner);
  std::vector<std::complex<Real>> stored(size_t(lattice.geometry().local_volume()) * numbers);
  group.read_sites(name, lattice.geometry(), stored.data(), inner);
  std::copy(stored.begin(), stored.end(), local);
  if (!group.has_attribute(checksum_attribute, name) || !group.has_attribute(norm_attribute, name))
    return {message(full_name(group, name), " has no checksum and norm")};
  compare(group, name, check_of(lattice, stored, numbers));
  return {};
}
}  // namespace

void write_site_field_hdf5(hdf5::Group& group, const std::string& name, const Lattice& lattice,
                           const std::complex<double>* local, const hdf5::Dims& inner, int precision_bits) {
  TRELLIS_REQUIRE(precision_bits == 32 || precision_bits == 64, "precision must be 32 or 64 bits, got ",
                  precision_bits);
  precision_bits == 32 ? write<float>(group, name, lattice, local, inner)
                       : write<double>(group, name, lattice, local, inner);
}

std::vector<std::string> read_site_field_hdf5(const hdf5::Group& group, const std::string& name,
                                              const Lattice& lattice, std::complex<double>* local,
                                              const hdf5::Dims& inner) {
  int64_t bits = 64;
  if (group.has_attribute(bits_attribute, name)) {
    const auto stored = group.integer_attribute(bits_attribute, name);
    bits = stored.empty() ? 0 : stored[0];
  }
  if (bits != 32 && bits != 64)
    throw FileError(message(full_name(group, name), ": expected 32 or 64 bits a number, found ", bits));
  return bits == 32 ? read<float>(group, name, lattice, local, inner)
                    : read<double>(group, name, lattice, local, inner);
}

}  // namespace trellis
