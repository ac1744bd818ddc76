#include "trellis/field/link_compression.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/view/link_reals.hpp"

namespace trellis {

void require_link_reals(int link_reals) {
  TRELLIS_REQUIRE(link_reals == 18 || link_reals == 14 || link_reals == 12 || link_reals == 8, "links of ",
                  link_reals, " reals are not among 18, 14, 12, 8");
}

namespace {
template <int N>
void write(const ColorMatrix<double>& U, double* out) {
  double reals[N];
  write_link_reals(U, reals);
  std::copy_n(reals, N, out);
}
}  // namespace

void stored_reals(const Link& U, int link_reals, double* out) {
  require_link_reals(link_reals);
  ColorMatrix<double> matrix;
  for (size_t k = 0; k < 9; ++k) matrix.e[k / 3][k % 3] = {U[k].real(), U[k].imag()};
  if (link_reals == 8) return write<8>(matrix, out);
  if (link_reals == 12) return write<12>(matrix, out);
  return link_reals == 14 ? write<14>(matrix, out) : write<18>(matrix, out);
}

}  // namespace trellis
