#include "eigenvector_file.hpp"

#include <complex>
#include <cstdio>

#include "trellis/base/error.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/io/site_field_hdf5.hpp"

namespace trellis::bindings {

namespace {
constexpr int spinor_numbers = 12;

std::string name_of_vector(int i) {
  char name[32];
  std::snprintf(name, sizeof name, "vector_%04d", i);
  return name;
}

/// It moves the numbers of a vector between a field and a file.
class VectorSites {
 public:
  VectorSites(const Lattice& lattice, const FieldSpec& spec)
      : geometry_{lattice.geometry()}, spec_{spec}, row_(size_t(volume() * 2 * spinor_numbers)) {
    TRELLIS_REQUIRE(spec.rhs == 1 && spec.reals == 2 * spinor_numbers,
                    "eigenvectors in files are single fields of spinors");
  }
  hdf5::Dims inner() const {
    if (is_full()) return {spec_.slices, 4, 3};
    return {spec_.slices * spinor_numbers / 2};
  }
  /// Returns how many numbers this rank has.
  size_t size() const { return size_t(volume() * spec_.slices * spinor_numbers / (is_full() ? 1 : 2)); }

  void gather(const SpinorField& field, std::complex<double>* local) {
    for (int slice = 0; slice < spec_.slices; ++slice) {
      field.to_canonical(row_.data(), slice);
      for_each_site([&](int64_t site, int64_t stored) {
        const double* from = &row_[size_t(site * 2 * spinor_numbers)];
        std::complex<double>* to = local + (stored * spec_.slices + slice) * spinor_numbers;
        for (int i = 0; i < spinor_numbers; ++i) to[i] = {from[2 * i], from[2 * i + 1]};
      });
    }
  }
  void scatter(const std::complex<double>* local, SpinorField& field) {
    for (int slice = 0; slice < spec_.slices; ++slice) {
      for_each_site([&](int64_t site, int64_t stored) {
        const std::complex<double>* from = local + (stored * spec_.slices + slice) * spinor_numbers;
        double* to = &row_[size_t(site * 2 * spinor_numbers)];
        for (int i = 0; i < spinor_numbers; ++i) to[2 * i] = from[i].real(), to[2 * i + 1] = from[i].imag();
      });
      field.from_canonical(row_.data(), slice);
    }
  }

 private:
  int64_t volume() const { return geometry_.local_volume(); }
  bool is_full() const { return spec_.subset == Subset::full; }
  /// Calls f(site, which of the stored ones) for the sites of the field. Local extents in x are even: of the
  /// sites 2 k and 2 k + 1 one has the parity.
  template <class F>
  void for_each_site(const F& f) const {
    for (int64_t site = 0; site < volume(); ++site) {
      if (is_full()) {
        f(site, site);
        continue;
      }
      const Coord x = site_coord(site, geometry_.local());
      if ((x[0] + x[1] + x[2] + x[3]) % 2 == first_parity(spec_.subset)) f(site, site / 2);
    }
  }

  const Geometry& geometry_;
  FieldSpec spec_;
  std::vector<double> row_;  // it has one slice of all local sites
};

void require_ascending(const hdf5::Group& group, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!(values[i] > 0 && (i == 0 || values[i] >= values[i - 1])))
      throw FileError(message(group.path(),
                              ": values: expected positive eigenvalues in ascending order, found ", values[i],
                              " as number ", i));
}
}  // namespace

void write_eigenvectors(hdf5::Group& group, const Eigenvectors& modes, int precision_bits) {
  TRELLIS_REQUIRE(!modes.vectors.empty(), "there are no eigenvectors to write");
  group.write("values", modes.values);
  group.write("relative_residual", modes.relative_residual);
  FieldSpec spec = modes.vectors.front().spec();
  const Lattice& lattice = modes.vectors.front().lattice();
  VectorSites sites(lattice, spec);
  std::vector<std::complex<double>> local(sites.size());
  for (int i = 0; i < modes.count(); ++i) {
    on_host(modes.vectors[size_t(i)], [&](const SpinorField& vector) { sites.gather(vector, local.data()); });
    write_site_field_hdf5(group, name_of_vector(i), lattice, local.data(), sites.inner(), precision_bits);
  }
}

Eigenvectors read_eigenvectors(const hdf5::Group& group, const LinearOperator& A, Precision storage,
                               std::vector<std::string>& warnings) {
  Eigenvectors modes;
  modes.operator_name = A.name();
  modes.values = group.read<double>("values");
  modes.relative_residual = group.read<double>("relative_residual");
  require_ascending(group, modes.values);
  if (modes.values.empty() || modes.relative_residual.size() != modes.values.size())
    throw FileError(message(group.path(), ": expected as many residuals as eigenvalues, at least one; found ",
                            modes.relative_residual.size(), " and ", modes.values.size()));
  const SpinorField probe = A.make_field(1);
  FieldSpec spec = probe.spec();
  spec.precision = storage;
  if (storage != probe.precision()) spec.lanes = 0;
  VectorSites sites(probe.lattice(), spec);
  std::vector<std::complex<double>> local(sites.size());
  for (int i = 0; i < modes.count(); ++i) {
    for (std::string& warning :
         read_site_field_hdf5(group, name_of_vector(i), probe.lattice(), local.data(), sites.inner()))
      warnings.push_back(std::move(warning));
    SpinorField vector(probe.lattice_ptr(), spec);
    on_host(vector, [&](SpinorField& host) { sites.scatter(local.data(), host); });
    modes.vectors.push_back(std::move(vector));
  }
  return modes;
}

}  // namespace trellis::bindings
