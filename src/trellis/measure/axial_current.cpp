#include "trellis/measure/axial_current.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/measure/reflected_products.hpp"
#include "trellis/measure/time_slice_sums.hpp"

namespace trellis {

namespace {
/// Returns weights that are 1 on the temporal links that begin at times of this parity.
LinkWeights every_second_time(int parity) {
  return [=](const Coord& x, int mu) { return mu == 3 && x[3] % 2 == parity ? 1.0 : 0.0; };
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
  const MomentumPhases phases(Y.geometry().lattice(), zero_momentum, {0, 0, 0, 0});
  const size_t first_time = size_t(Y.geometry().origin()[3]);
  for (int parity = 0; parity < 2; ++parity) {
    links_[parity].apply(inserted, axial);
    const auto write = [&](int site_parity, const SiteRange& blocks, const ProductBuffer& out) {
      write_reflected_products(Y, inserted, site_parity, blocks, out);
    };
    const std::vector<ExactSum> sums = slice_sums_of_rank(Y, 1, phases, write);
    for (size_t t = 0; 2 * t < sums.size(); ++t) sums_[parity][first_time + t].merge(sums[2 * t]);
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
