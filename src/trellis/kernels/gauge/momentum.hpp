#pragma once
/// Momenta and links of molecular dynamics have P = sum_a p_a T_a, dU/dt = P U (doc/conventions.md, Algebra).
#include <array>

#include "trellis/algebra/su3_exponential.hpp"
#include "trellis/algebra/su3_random.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

/// The numbers are those of a site. A drift takes exponential and a product; a projection takes product,
/// components and sum.
inline constexpr KernelCost drift_cost{4 * (exponential_flops + 198 + 8), (2 * 72 + 32) * 8};
inline constexpr KernelCost projection_cost{4 * (198 + 14 + 16), (2 * 72 + 2 * 32) * 8};

/// Draws p_a normal of unit variance (draws: doc/random_numbers.md, momentum).
template <class Layout, class Storage>
class RandomMomenta {
 public:
  using Array = SiteArray<Layout, Storage, 8>;
  using Real = typename Array::Real;
  RandomMomenta(const RawField& P, const int64_t* sites, RandomKey key, uint32_t trajectory)
      : P_{P}, sites_{sites}, key_{key}, trajectory_{trajectory} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const SiteRandom<Real> random(key_, RandomPurpose::momentum, trajectory_,
                                  load_integers<Real>(sites_ + size_t(block) * Array::W));
    for (int mu = 0; mu < 4; ++mu) {
      Real p[8];
      for (int k = 0; k < 4; ++k) {
        const std::array<Real, 2> g = random.gaussian_pair(uint32_t(4 * mu + k));
        p[2 * k] = g[0];
        p[2 * k + 1] = g[1];
      }
      P_.store(block, mu, p);
    }
  }

 private:
  Array P_;
  const int64_t* sites_;
  RandomKey key_;
  uint32_t trajectory_;
};

/// It moves links: U <- exp(step P) U.
template <class Layout, class Storage>
class LinkDrift {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  LinkDrift(const GaugeCall& gauge, const RawField& P, double step)
      : U_{gauge.links, gauge.tables}, P_{P}, step_{step} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) (*this)(block, mu);
  }
  /// Does one direction, which is what a thread of a GPU takes.
  TRELLIS_SITE_FN void operator()(int block, int mu) const {
    Real p[8];
    P_.load(block, mu, p);
    for (int a = 0; a < 8; ++a) p[a] = Real(step_) * p[a];
    U_.store(block, mu, exponential(algebra_element(p)) * U_.link(U_.at(block), mu));
  }

 private:
  Gauge U_;
  SiteArray<Layout, Storage, 8> P_;
  double step_;
};

/// It computes out += coefficient in.
template <class Layout, class Storage>
class AlgebraAxpy {
 public:
  using Array = SiteArray<Layout, Storage, 8>;
  using Real = typename Array::Real;
  AlgebraAxpy(const RawField& out, const RawField& in, double coefficient)
      : out_{out}, in_{in}, coefficient_{coefficient} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int mu = 0; mu < 4; ++mu) {
      Real p[8], q[8];
      out_.load(block, mu, p);
      in_.load(block, mu, q);
      for (int a = 0; a < 8; ++a) p[a] = fma(Real(coefficient_), q[a], p[a]);
      out_.store(block, mu, p);
    }
  }

 private:
  Array out_, in_;
  double coefficient_;
};

/// The term is the sum over the links of a site of sum_a p_a q_a.
template <class Layout, class Storage>
class AlgebraDot {
 public:
  using Array = SiteArray<Layout, Storage, 8>;
  using Real = typename Array::Real;
  AlgebraDot(const RawField& P, const RawField& Q) : P_{P}, Q_{Q} {}

  TRELLIS_SITE_FN std::array<Real, 1> operator()(int block) const {
    Real sum(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      Real p[8], q[8];
      P_.load(block, mu, p);
      Q_.load(block, mu, q);
      for (int a = 0; a < 8; ++a) sum = fma(p[a], q[a], sum);
    }
    return {sum};
  }

 private:
  Array P_, Q_;
};

/// It finds the largest sum_a p_a^2 of the links of a site (NaN if one is not finite).
template <class Layout, class Storage>
class AlgebraMaximum {
 public:
  using Array = SiteArray<Layout, Storage, 8>;
  using Real = typename Array::Real;
  explicit AlgebraMaximum(const RawField& P) : P_{P} {}

  TRELLIS_SITE_FN Real operator()(int block) const {
    Real largest(0.0), finite_check(0.0);
    for (int mu = 0; mu < 4; ++mu) {
      Real p[8];
      P_.load(block, mu, p);
      Real sum = p[0] * p[0];
      for (int a = 1; a < 8; ++a) sum = fma(p[a], p[a], sum);
      largest = maximum(largest, sum);
      finite_check = finite_check + (sum - sum);  // NaN stays
    }
    return largest + finite_check;
  }

 private:
  Array P_;
};

/// delta S = Re tr(G delta U) along delta U = T_a U is Re tr(T_a U G) = -(1/2) (components of TA(U G))_a:
/// force_a += coefficient times that.
template <class Layout, class Storage>
class DerivativeProjection {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  DerivativeProjection(const RawField& force, const GaugeCall& gauge, const RawField& G, double coefficient)
      : force_{force}, U_{gauge.links, gauge.tables}, G_{G, gauge.tables}, factor_{-0.5 * coefficient} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = U_.at(block);
    for (int mu = 0; mu < 4; ++mu) {
      Real p[8], f[8];
      algebra_components(U_.link(x, mu) * G_.link(x, mu), p);
      force_.load(block, mu, f);
      for (int a = 0; a < 8; ++a) f[a] = fma(Real(factor_), p[a], f[a]);
      force_.store(block, mu, f);
    }
  }

 private:
  SiteArray<Layout, Storage, 8> force_;
  Gauge U_, G_;
  double factor_;
};

struct SiteRange;
struct ExactSum;
struct RandomMomentaCall {
  RawField momenta;
  const int64_t* sites = nullptr;  ///< it has [block][lane] global index
  RandomKey key;
  uint32_t trajectory = 0;
};
template <class Layout, class Storage>
void launch_random_momenta(const RandomMomentaCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_link_drift(const GaugeCall& gauge, const RawField& P, double step, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_algebra_axpy(const RawField& out, const RawField& in, double coefficient,
                         const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_algebra_dot(const RawField& P, const RawField& Q, const SiteRange& inner_blocks, ExactSum* sum);
template <class Layout, class Storage>
double launch_algebra_maximum(const RawField& P, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_derivative_projection(const RawField& force, const GaugeCall& gauge, const RawField& G,
                                  double coefficient, const SiteRange& inner_blocks);

}  // namespace trellis
