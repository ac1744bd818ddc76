#pragma once
/// Boxes of a coarse lattice are solved for by a few steps of minimal residual each: for counts, one site
/// goes after the other.
#include <complex>

#include "tests/support/cut_coarse_links.hpp"

namespace trellis::lab {

class BoxesByMr {
 public:
  /// S belongs to D without the legs between boxes: it is that of boxes side by side.
  BoxesByMr(const CoarseMatrixPtr& D, const Coord& box)
      : box_{box}, S_{test::without_legs_between(*D, box), SchurForm::symmetric} {}

  /// Computes z_B after so many steps from zero; step lengths are each box's own.
  void apply(SpinorField& z, const SpinorField& r) const {
    SpinorField left = r, q = SpinorField::like(r);
    set_zero(z);
    for (int i = 0; i < steps; ++i) {
      S_.apply(q, left);
      add_steps(z, left, q);
    }
  }
  int steps = 4;

 private:
  /// Computes z_B += alpha r_B, r_B -= alpha q_B with alpha = <q_B, r_B> / <q_B, q_B>.
  void add_steps(SpinorField& z, SpinorField& r, const SpinorField& q) const {
    const Geometry& g = r.geometry();
    const Coord count = {g.local()[0] / box_[0], g.local()[1] / box_[1], g.local()[2] / box_[2],
                         g.local()[3] / box_[3]};
    std::vector<std::complex<double>> overlap(size_t(product(count)));
    std::vector<double> norm2(overlap.size()), a(size_t(r.reals())), b(a), c(a);
    for (const bool adds : {false, true})
      for (int64_t i = 0; i < g.local_volume(); ++i) {
        const Coord x = site_coord(i, g.local());
        const SitePosition at = r.layout().position(x);
        if (at.parity != 0) continue;
        const size_t number =
            size_t(site_index({x[0] / box_[0], x[1] / box_[1], x[2] / box_[2], x[3] / box_[3]}, count));
        q.get_site(at, 0, a.data());
        r.get_site(at, 0, b.data());
        z.get_site(at, 0, c.data());
        for (size_t k = 0; k < a.size(); k += 2) {
          const std::complex<double> of_q{a[k], a[k + 1]}, of_r{b[k], b[k + 1]};
          if (!adds) {
            overlap[number] += std::conj(of_q) * of_r;
            norm2[number] += std::norm(of_q);
            continue;
          }
          const std::complex<double> alpha = norm2[number] > 0 ? overlap[number] / norm2[number] : 0.0;
          c[k] += (alpha * of_r).real();
          c[k + 1] += (alpha * of_r).imag();
          b[k] -= (alpha * of_q).real();
          b[k + 1] -= (alpha * of_q).imag();
        }
        if (!adds) continue;
        z.set_site(at, 0, c.data());
        r.set_site(at, 0, b.data());
      }
  }
  Coord box_;
  CoarseSchur S_;
};

}  // namespace trellis::lab
