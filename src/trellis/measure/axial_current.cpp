#include "trellis/measure/axial_current.hpp"

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/on_host.hpp"

namespace trellis {

namespace {
/// 1 on the temporal links that begin at times of this parity.
LinkWeights every_second_time(int parity) {
  return [=](const Coord& x, int mu) { return mu == 3 && x[3] % 2 == parity ? 1.0 : 0.0; };
}

/// Returns Re sum over right-hand sides and slices of Y_{Ls-1-s}^dagger gamma5 Z_s at a site.
double reflected_product(const SpinorField& Y, const SpinorField& Z, const SitePosition& at) {
  const int Ls = Y.slices();
  double sum = 0, y[24], z[24];
  for (int r = 0; r < Y.rhs(); ++r)
    for (int s = 0; s < Ls; ++s) {
      Y.get_site(at, r * Ls + Ls - 1 - s, y);
      Z.get_site(at, r * Ls + s, z);
      for (int k = 0; k < 24; ++k) sum += (k < 12 ? 1.0 : -1.0) * y[k] * z[k];
    }
  return sum;
}

const DomainWallMatrixPtr& checked(const DomainWallMatrixPtr& matrix) {
  const DomainWallParams& p = matrix->params();
  TRELLIS_REQUIRE(matrix->choice().precision == Precision::double_precision,
                  "the axial current is contracted in double");
  TRELLIS_REQUIRE(p.Ls % 2 == 0, "the axial current needs an even Ls, not ", p.Ls);
  TRELLIS_REQUIRE(p.b5.size() == 1 && p.c5.size() == 1 && p.b(0).imag() == 0 && p.c(0).imag() == 0,
                  "the axial current at the sink needs one real b5 and one real c5 for all slices");
  return matrix;
}
}  // namespace

AxialCurrent::AxialCurrent(const DomainWallMatrixPtr& matrix)
    : matrix_{checked(matrix)},
      links_{ConservedCurrent(matrix->links(), matrix->params().kernel(), every_second_time(0)),
             ConservedCurrent(matrix->links(), matrix->params().kernel(), every_second_time(1))} {
  for (auto& list : sums_) list.resize(size_t(matrix->lattice().extents()[3]));
}

void AxialCurrent::add(const SpinorField& psi, const SpinorField& source, int first) {
  const SpinorField Y = current_field(*matrix_, psi, source, first);
  SpinorField axial = SpinorField::like(Y), inserted = SpinorField::like(Y);
  for (int parity = 0; parity < 2; ++parity)
    matrix_->apply_fifth(axial, Y, parity, FifthMatrix::axial_sign, false);
  const Geometry& g = Y.geometry();
  std::vector<double> terms(size_t(g.local_volume()));
  for (int parity = 0; parity < 2; ++parity) {
    stop_together(matrix_->lattice().communicator());
    links_[parity].apply(inserted, axial);
    on_host(Y, [&](const SpinorField& y) {
      on_host(inserted, [&](const SpinorField& z) {
        for_each_index(int(g.local_volume()), [&](int site) {
          terms[size_t(site)] = reflected_product(y, z, y.layout().position(site_coord(site, g.local())));
        });
      });
    });
    for (int64_t site = 0; site < g.local_volume(); ++site)
      sums_[parity][size_t(g.to_global(site_coord(site, g.local()))[3])].add(terms[size_t(site)]);
  }
}

/// A link from t is seen at the sites of t and t + 1, and those of one parity do not overlap.
std::vector<double> AxialCurrent::correlator(int source_time) const {
  const int Lt = int(sums_[0].size());
  const DomainWallParams& p = matrix_->params();
  std::vector<double> A(sums_[0].size());
  for (int t = 0; t < Lt; ++t) {
    const auto& list = sums_[t % 2];
    ExactSum both = list[size_t(t)];
    both.merge(list[size_t((t + 1) % Lt)]);
    matrix_->lattice().communicator().sum(&both, 1);
    A[size_t((t - source_time + Lt) % Lt)] = both.value() / (p.b(0) + p.c(0)).real();
  }
  return A;
}

}  // namespace trellis
