#include "reference/baryons.hpp"

#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis::reference {

namespace {
/// These are the six permutations of three, with their signs; epsilon has the same non-zero entries.
struct Permutation {
  std::array<int, 3> of;
  double sign;
};
constexpr Permutation permutations[6] = {{{0, 1, 2}, 1},  {{1, 2, 0}, 1},  {{2, 0, 1}, 1},
                                         {{0, 2, 1}, -1}, {{2, 1, 0}, -1}, {{1, 0, 2}, -1}};

/// Returns B^dagger as a term in psibar: psi^dagger_s = psibar_r (gamma_t)_rs.
BaryonTerm conjugate(const BaryonTerm& term) {
  const GammaMatrix gamma_t = gamma_mu(3);
  BaryonTerm bar{std::conj(term.coefficient), term.flavour, {}};
  for (size_t q = 0; q < 3; ++q)
    for (size_t row = 0; row < 4; ++row)
      if (gamma_t.column[row] == term.spin[q]) {
        bar.spin[q] = int(row);
        bar.coefficient *= gamma_t.phase[row];
      }
  return bar;
}

/// Contracts < eps q0 q1 q2  eps qbar2 qbar1 qbar0 >: sink quark i meets source quark sigma(i), with
/// sign(sigma).
std::complex<double> contract(const BaryonTerm& sink, const BaryonTerm& bar,
                              const std::vector<Propagator>& quarks, int64_t site) {
  std::complex<double> sum = 0;
  for (const Permutation& sigma : permutations) {
    bool flavours_match = true;
    for (size_t i = 0; i < 3; ++i)
      flavours_match = flavours_match && sink.flavour[i] == bar.flavour[size_t(sigma.of[i])];
    if (!flavours_match) continue;
    for (const Permutation& a : permutations)
      for (const Permutation& b : permutations) {
        std::complex<double> product = sigma.sign * a.sign * b.sign;
        for (size_t i = 0; i < 3; ++i) {
          const size_t j = size_t(sigma.of[i]);
          product *= quarks[size_t(sink.flavour[i])].entry(site, sink.spin[i], a.of[i], bar.spin[j], b.of[j]);
        }
        sum += product;
      }
  }
  return sink.coefficient * bar.coefficient * sum;
}
}  // namespace

SpinMatrix spin_matrix(const GammaMatrix& gamma) {
  SpinMatrix m{};
  for (size_t row = 0; row < 4; ++row) m[row][size_t(gamma.column[row])] = gamma.phase[row];
  return m;
}

SpinMatrix operator+(const SpinMatrix& a, const SpinMatrix& b) {
  SpinMatrix r{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) r[i][j] = a[i][j] + b[i][j];
  return r;
}

SpinMatrix operator*(const SpinMatrix& a, const SpinMatrix& b) {
  SpinMatrix r{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 4; ++k) r[i][j] += a[i][k] * b[k][j];
  return r;
}

SpinMatrix operator*(std::complex<double> s, const SpinMatrix& a) {
  SpinMatrix r = a;
  for (auto& row : r)
    for (auto& entry : row) entry *= s;
  return r;
}

SpinMatrix unpolarised_projector() {
  return 0.5 * (spin_matrix(gamma_product(0)) + spin_matrix(gamma_mu(3)));
}

SpinMatrix polarised_projector() {
  return unpolarised_projector() * spin_matrix(-i1 * (gamma_mu(0) * gamma_mu(1)));
}

std::vector<std::complex<double>> baryon_correlator(const BaryonOperator& A, const BaryonOperator& B,
                                                    const std::vector<Propagator>& quarks,
                                                    const TwoPointOptions& options) {
  TRELLIS_REQUIRE(!quarks.empty(), "baryon correlator without propagators");
  const Coord& L = quarks.front().extents;
  BaryonOperator bars;
  for (const BaryonTerm& term : B) bars.push_back(conjugate(term));
  std::vector<std::complex<double>> C(size_t(L[3]), 0.0);
  for (int64_t site = 0; site < product(L); ++site) {
    const Coord x = site_coord(site, L);
    std::complex<double> sum = 0;
    for (const BaryonTerm& sink : A)
      for (const BaryonTerm& bar : bars) sum += contract(sink, bar, quarks, site);
    const bool has_wrapped = x[3] < options.source_at[3];
    const double sign = has_wrapped && options.removes_antiperiodic_sign ? -1.0 : 1.0;
    C[size_t((x[3] - options.source_at[3] + L[3]) % L[3])] +=
        sign * momentum_phase(x, options.source_at, options.momentum, L) * sum;
  }
  return C;
}

BaryonOperator octet_operator(DiquarkForm form, int q1, int q2, int gamma) {
  SpinMatrix G = spin_matrix(gamma_mu(1) * gamma_mu(3) * gamma_product(15));
  if (form == DiquarkForm::projected) G = G * unpolarised_projector();
  BaryonOperator N;
  for (int alpha = 0; alpha < 4; ++alpha)
    for (int beta = 0; beta < 4; ++beta)
      if (G[size_t(alpha)][size_t(beta)] != 0.0)
        N.push_back({G[size_t(alpha)][size_t(beta)], {q1, q2, q1}, {alpha, beta, gamma}});
  return N;
}

/// Returns sum_{gamma,delta} (gamma_t P)_{delta gamma} < N_gamma N_delta^dagger >.
std::vector<std::complex<double>> octet_two_point(DiquarkForm form, int q1, int q2, const SpinMatrix& P,
                                                  const std::vector<Propagator>& quarks,
                                                  const TwoPointOptions& options) {
  const SpinMatrix weight = spin_matrix(gamma_mu(3)) * P;
  BaryonOperator source[4];
  for (int delta = 0; delta < 4; ++delta) source[delta] = octet_operator(form, q1, q2, delta);
  std::vector<std::complex<double>> C(size_t(quarks.at(size_t(q1)).extents[3]), 0.0);
  for (int gamma = 0; gamma < 4; ++gamma)
    for (int delta = 0; delta < 4; ++delta) {
      const std::complex<double> w = weight[size_t(delta)][size_t(gamma)];
      if (w == 0.0) continue;
      const auto part =
          baryon_correlator(octet_operator(form, q1, q2, gamma), source[delta], quarks, options);
      for (size_t t = 0; t < C.size(); ++t) C[t] += w * part[t];
    }
  return C;
}

BaryonOperator decuplet_operator(int q1, int q2, int k, int gamma) {
  const SpinMatrix G = spin_matrix(gamma_mu(1) * gamma_mu(3) * gamma_mu(k));
  const double norm = q1 == q2 ? 1.0 : 1 / std::sqrt(3.0);
  BaryonOperator B;
  for (int alpha = 0; alpha < 4; ++alpha)
    for (int beta = 0; beta < 4; ++beta) {
      const std::complex<double> g = norm * G[size_t(alpha)][size_t(beta)];
      if (g == 0.0) continue;
      B.push_back({g, {q1, q1, q2}, {alpha, beta, gamma}});
      if (q1 != q2) B.push_back({2.0 * g, {q1, q2, q1}, {alpha, beta, gamma}});
    }
  return B;
}

std::vector<std::complex<double>> decuplet_two_point(int q1, int q2, const std::vector<Propagator>& quarks,
                                                     const TwoPointOptions& options) {
  std::vector<std::complex<double>> C(size_t(quarks.at(size_t(q1)).extents[3]), 0.0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      SpinMatrix spin = (-1.0 / 3) * spin_matrix(gamma_mu(i) * gamma_mu(j));
      for (size_t s = 0; s < 4; ++s) spin[s][s] += i == j ? 1.0 : 0.0;
      const SpinMatrix weight = spin_matrix(gamma_mu(3)) * unpolarised_projector() * spin;
      for (int gamma = 0; gamma < 4; ++gamma)
        for (int delta = 0; delta < 4; ++delta) {
          const std::complex<double> w = weight[size_t(delta)][size_t(gamma)];
          if (std::abs(w) < 1e-15) continue;
          const auto part = baryon_correlator(decuplet_operator(q1, q2, j, gamma),
                                              decuplet_operator(q1, q2, i, delta), quarks, options);
          for (size_t t = 0; t < C.size(); ++t) C[t] += w * part[t];
        }
    }
  return C;
}

namespace {
/// Adds coefficient eps q0 q1 q2 of projected quarks, where spin 0 is down and 1 is up.
void add_projected(BaryonOperator& B, std::complex<double> coefficient, const std::array<int, 3>& flavour,
                   const std::array<int, 3>& spin) {
  // Here gamma_t exchanges components 0, 2 and 1, 3: gamma_t = 1 on (e_0 + e_2)/sqrt2 and (e_1 + e_3)/sqrt2;
  // -i gamma_x gamma_y = diag(-1, 1, -1, 1) makes the first spin down, the second spin up.
  const double norm = 1 / std::sqrt(8.0);
  for (int lower = 0; lower < 8; ++lower)
    B.push_back(
        {norm * coefficient,
         flavour,
         {spin[0] + 2 * (lower & 1), spin[1] + 2 * (lower >> 1 & 1), spin[2] + 2 * (lower >> 2 & 1)}});
}
}  // namespace

BaryonOperator projected_octet(int q1, int q2, bool is_up) { return projected_lambda(q1, q2, q1, is_up); }

BaryonOperator projected_lambda(int u, int d, int s, bool is_up) {
  const int up = is_up ? 1 : 0, down = 1 - up;
  BaryonOperator B;
  add_projected(B, 1 / std::sqrt(2.0), {u, d, s}, {up, down, up});
  add_projected(B, -1 / std::sqrt(2.0), {u, d, s}, {down, up, up});
  return B;
}

BaryonOperator projected_decuplet(int q1, int q2, int twice_spin) {
  TRELLIS_REQUIRE(twice_spin == 3 || twice_spin == 1 || twice_spin == -1 || twice_spin == -3,
                  "twice the spin is ", twice_spin, ", not 3, 1, -1 or -3");
  const int up = twice_spin > 0 ? 1 : 0, down = 1 - up;
  BaryonOperator B;
  if (std::abs(twice_spin) == 3) {
    add_projected(B, 1.0, {q1, q1, q2}, {up, up, up});
  } else {
    add_projected(B, 2 / std::sqrt(3.0), {q1, q1, q2}, {up, down, up});
    add_projected(B, 1 / std::sqrt(3.0), {q1, q1, q2}, {up, up, down});
  }
  return B;
}

}  // namespace trellis::reference
