#include "multigrid_file.hpp"

#include <complex>
#include <cstdio>

#include "trellis/base/error.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/io/site_field_hdf5.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"

namespace trellis::bindings {

namespace {
std::string numbered(const std::string& name, int i) {
  char text[16];
  std::snprintf(text, sizeof text, "_%04d", i);
  return name + text;
}

/// It keeps right-hand sides of a field as arrays of a file, NAME_0000 and so on, in the field's storage.
class FieldArrays {
 public:
  FieldArrays(const SiteField& field, std::string name, hdf5::Dims inner)
      : lattice_{field.lattice()},
        name_{std::move(name)},
        inner_{std::move(inner)},
        bits_{field.precision() == Precision::double_precision ? 64 : 32},
        reals_(size_t(lattice_.geometry().local_volume()) * size_t(field.reals())),
        complex_(reals_.size() / 2) {}

  void write(hdf5::Group& group, const SiteField& field) {
    on_host(field, [&](const SiteField& host) {
      for (int i = 0; i < host.rhs(); ++i) {
        host.to_canonical(reals_.data(), i);
        for (size_t k = 0; k < complex_.size(); ++k) complex_[k] = {reals_[2 * k], reals_[2 * k + 1]};
        write_site_field_hdf5(group, numbered(name_, i), lattice_, complex_.data(), inner_, bits_);
      }
    });
  }
  void read(SiteField& field, const hdf5::Group& group, std::vector<std::string>& warnings) {
    on_host(field, [&](SiteField& host) {
      for (int i = 0; i < host.rhs(); ++i) {
        for (std::string& warning :
             read_site_field_hdf5(group, numbered(name_, i), lattice_, complex_.data(), inner_))
          warnings.push_back(std::move(warning));
        for (size_t k = 0; k < complex_.size(); ++k) {
          reals_[2 * k] = complex_[k].real();
          reals_[2 * k + 1] = complex_[k].imag();
        }
        host.from_canonical(reals_.data(), i);
      }
    });
  }

 private:
  const Lattice& lattice_;
  std::string name_;
  hdf5::Dims inner_;
  int bits_;
  std::vector<double> reals_;
  std::vector<std::complex<double>> complex_;
};

FieldArrays arrays_of_columns(const SpinorField& columns) { return {columns, "column", {4, 3}}; }
FieldArrays arrays_of_coefficients(const SiteField& coefficients) {
  return {coefficients, "coefficients", {hdf5::Dims::value_type(coefficients.reals() / 2)}};
}
FieldArrays arrays_of_level(const SiteField& columns, int level) {
  return {columns, message("level_", level, "_column"), {hdf5::Dims::value_type(columns.reals() / 2)}};
}
}  // namespace

void write_multigrid(hdf5::Group& group, const Multigrid& multigrid) {
  const SpinorField columns = multigrid.prolongator().copy_of_columns();
  arrays_of_columns(columns).write(group, columns);
  const SiteField& coefficients = *multigrid.coefficients();
  arrays_of_coefficients(coefficients).write(group, coefficients);
  const std::vector<CoarserLevel>& coarser = multigrid.hierarchy().coarser;
  for (size_t i = 0; i < coarser.size(); ++i) {
    const SiteField& of_level = coarser[i].prolongator->columns();
    arrays_of_level(of_level, int(i) + 1).write(group, of_level);
  }
}

MultigridPtr read_multigrid(const hdf5::Group& group, const WilsonOperator& M, const StatedMultigrid& stated,
                            std::vector<std::string>& warnings) {
  WilsonParams params = M.matrix()->params();
  params.mass = stated.mass;
  params.twisted_mass = stated.twisted_mass;
  const WilsonMatrix built_at(*M.matrix()->gauge_field(), params, M.matrix()->choice());
  const auto fill = [&](SpinorField& columns, SiteField& coefficients) {
    arrays_of_columns(columns).read(columns, group, warnings);
    arrays_of_coefficients(coefficients).read(coefficients, group, warnings);
  };
  const auto fill_coarse = [&](int level, SiteField& columns) {
    arrays_of_level(columns, level).read(columns, group, warnings);
  };
  return MultigridSetup(built_at, stated.params).from_columns(fill, fill_coarse, stated.report)->at(M);
}

}  // namespace trellis::bindings
