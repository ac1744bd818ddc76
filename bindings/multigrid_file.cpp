#include "multigrid_file.hpp"

#include <complex>
#include <cstdio>

#include "trellis/field/storage/on_host.hpp"
#include "trellis/io/site_field_hdf5.hpp"
#include "trellis/multigrid/multigrid_setup.hpp"

namespace trellis::bindings {

namespace {
const hdf5::Dims inner{4, 3};

/// The numbers of a column of this rank, as files have them.
class ColumnNumbers {
 public:
  explicit ColumnNumbers(const Lattice& lattice)
      : reals_(size_t(lattice.geometry().local_volume()) * spinor_reals), complex_(reals_.size() / 2) {}

  std::complex<double>* data() { return complex_.data(); }
  void take(const SpinorField& columns, int column) {
    columns.to_canonical(reals_.data(), column);
    for (size_t i = 0; i < complex_.size(); ++i) complex_[i] = {reals_[2 * i], reals_[2 * i + 1]};
  }
  void give(SpinorField& columns, int column) {
    for (size_t i = 0; i < complex_.size(); ++i) {
      reals_[2 * i] = complex_[i].real();
      reals_[2 * i + 1] = complex_[i].imag();
    }
    columns.from_canonical(reals_.data(), column);
  }

 private:
  std::vector<double> reals_;
  std::vector<std::complex<double>> complex_;
};
}  // namespace

std::string name_of_column(int i) {
  char name[32];
  std::snprintf(name, sizeof name, "column_%04d", i);
  return name;
}

void write_multigrid(hdf5::Group& group, const Multigrid& multigrid) {
  const SpinorField& columns = multigrid.prolongator().columns();
  const int bits = columns.precision() == Precision::double_precision ? 64 : 32;
  ColumnNumbers numbers(columns.lattice());
  on_host(columns, [&](const SpinorField& host) {
    for (int i = 0; i < host.rhs(); ++i) {
      numbers.take(host, i);
      write_site_field_hdf5(group, name_of_column(i), columns.lattice(), numbers.data(), inner, bits);
    }
  });
}

MultigridPtr read_multigrid(const hdf5::Group& group, const WilsonOperator& M, const StatedMultigrid& stated,
                            std::vector<std::string>& warnings) {
  WilsonParams params = M.matrix()->params();
  params.mass = stated.mass;
  params.twisted_mass = stated.twisted_mass;
  const WilsonMatrix built_at(*M.matrix()->gauge_field(), params, M.matrix()->choice());
  const auto fill = [&](SpinorField& columns) {
    const Lattice& lattice = columns.lattice();
    ColumnNumbers numbers(lattice);
    on_host(columns, [&](SpinorField& host) {
      for (int i = 0; i < host.rhs(); ++i) {
        for (std::string& warning :
             read_site_field_hdf5(group, name_of_column(i), lattice, numbers.data(), inner))
          warnings.push_back(std::move(warning));
        numbers.give(host, i);
      }
    });
  };
  return MultigridSetup(built_at, stated.params).from_columns(fill, stated.report)->at(M);
}

}  // namespace trellis::bindings
