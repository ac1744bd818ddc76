#include "trellis/measure/three_point.hpp"

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/measure/mesons.hpp"

namespace trellis {

namespace {
using Number = std::complex<double>;
using SiteMatrix = std::array<std::array<Number, 12>, 12>;  ///< [3 spin + colour][3 spin' + colour']

struct Epsilon {
  int a, b, c;
  double sign;
};
constexpr Epsilon epsilon[6] = {{0, 1, 2, 1},  {1, 2, 0, 1},  {2, 0, 1, 1},
                                {0, 2, 1, -1}, {2, 1, 0, -1}, {1, 0, 2, -1}};

SiteMatrix site_matrix(const SpinorField& columns, const SitePosition& at) {
  SiteMatrix S;
  for (int column = 0; column < 12; ++column) {
    Number psi[12];
    columns.get_site(at, column, reinterpret_cast<double*>(psi));
    for (size_t i = 0; i < 12; ++i) S[i][size_t(column)] = psi[i];
  }
  return S;
}

/// One term has spins alpha, beta, gamma of (u d u) at the sink, primed at the source, with its weight
/// G_{alpha beta} Gbar_{alpha' beta'} P_{delta gamma}.
struct SpinTerm {
  int alpha, beta, gamma, alpha_source, beta_source, delta;
  Number weight;
};

std::vector<SpinTerm> spin_terms(const SpinMatrix& P) {
  const GammaMatrix G = octet_diquark();
  GammaMatrix conjugate = G;
  for (auto& phase : conjugate.phase) phase = std::conj(phase);
  const GammaMatrix bar = gamma_mu(3) * conjugate * transpose(gamma_mu(3));
  std::vector<SpinTerm> terms;
  for (int alpha = 0; alpha < 4; ++alpha)
    for (int alpha_source = 0; alpha_source < 4; ++alpha_source)
      for (int gamma = 0; gamma < 4; ++gamma)
        for (int delta = 0; delta < 4; ++delta) {
          const size_t a = size_t(alpha), b = size_t(alpha_source);
          const Number weight = G.phase[a] * bar.phase[b] * P[size_t(delta)][size_t(gamma)];
          if (weight != 0.0)
            terms.push_back({alpha, G.column[a], gamma, alpha_source, bar.column[b], delta, weight});
        }
  return terms;
}

/// K with sum tr[K F] = C2 with U of up (D of down) replaced in turn by F, times its weight:
///   C2 = w e_abc e_a'b'c' [ U(alpha a, alpha' a') U(gamma c, delta c') - U(alpha a, delta c') U(gamma c,
///   alpha' a') ] D(beta b, beta' b')
SiteMatrix sink_block(const SiteMatrix& U, const SiteMatrix& D, const std::vector<SpinTerm>& terms,
                      const std::array<double, 2>& up_and_down) {
  const auto [up, down] = up_and_down;
  SiteMatrix K{};
  for (const SpinTerm& t : terms)
    for (const Epsilon& e : epsilon)
      for (const Epsilon& f : epsilon) {
        const size_t alpha = size_t(3 * t.alpha + e.a), beta = size_t(3 * t.beta + e.b);
        const size_t gamma = size_t(3 * t.gamma + e.c), delta = size_t(3 * t.delta + f.c);
        const size_t alpha2 = size_t(3 * t.alpha_source + f.a), beta2 = size_t(3 * t.beta_source + f.b);
        const Number w = t.weight * (e.sign * f.sign);
        if (down != 0.0)
          K[beta2][beta] +=
              down * w * (U[alpha][alpha2] * U[gamma][delta] - U[alpha][delta] * U[gamma][alpha2]);
        if (up == 0.0) continue;
        const Number wd = up * w * D[beta][beta2];
        K[alpha2][alpha] += wd * U[gamma][delta];
        K[delta][gamma] += wd * U[alpha][alpha2];
        K[delta][alpha] -= wd * U[gamma][alpha2];
        K[alpha2][gamma] -= wd * U[alpha][delta];
      }
  return K;
}
}  // namespace

Source nucleon_sequential_source(const Propagator& up, const Propagator& down, const NucleonSink& sink,
                                 const SinkSmearing* smearing) {
  const Propagator& S = up;
  const Geometry& g = S.geometry();
  const int Lt = g.lattice()[3];
  TRELLIS_REQUIRE(
      g == down.geometry() && S.source_at() == down.source_at() && S.boundary()[3] == down.boundary()[3],
      "up and down propagators of different lattices, sources or boundary phases");
  TRELLIS_REQUIRE(sink.separation >= 0 && sink.separation < Lt, "sink at ", sink.separation,
                  " slices from the source is not in 0..", Lt - 1);
  TRELLIS_REQUIRE(sink.up_and_down[0] != 0.0 || sink.up_and_down[1] != 0.0,
                  "the current acts on neither up nor down quarks");
  const auto z = S.boundary()[3];
  const bool has_wrapped = S.source_at()[3] + sink.separation >= Lt;
  const Number wrapped = has_wrapped && z != 0.0 ? z * z * z : 1.0;
  const int sink_time = (S.source_at()[3] + sink.separation) % Lt;
  const MomentumPhases phases(g.lattice(), {sink.momentum}, S.source_at());
  const std::vector<SpinTerm> terms = spin_terms(sink.projector);
  FieldSpec spec;
  spec.rhs = 12;
  Source source{SpinorField(S.lattice_ptr(), spec), S.source_at(),
                S.description() + message(", sequential from the sink at ", sink.separation)};
  const auto fill = [&](const SpinorField& u, const SpinorField& d) {
    for_each_index(int(g.local_volume()), [&](int site) {
      const Coord x = site_coord(site, g.local()), global = g.to_global(x);
      if (global[3] != sink_time) return;
      const SiteMatrix U = site_matrix(u, u.layout().position(x));
      const SiteMatrix D = &u == &d ? U : site_matrix(d, d.layout().position(x));
      const SiteMatrix K = sink_block(U, D, terms, sink.up_and_down);
      const Number phase = wrapped * phases(0, global);
      const SitePosition at = source.columns.layout().position(x);
      for (size_t column = 0; column < 12; ++column) {
        Number b[12];
        for (size_t i = 0; i < 12; ++i) b[i] = (i < 6 ? 1.0 : -1.0) * std::conj(phase * K[column][i]);
        source.columns.set_site(at, int(column), reinterpret_cast<const double*>(b));
      }
    });
  };
  on_host(up.columns(), [&](const SpinorField& u) {
    if (&up == &down) return fill(u, u);
    on_host(down.columns(), [&](const SpinorField& d) { fill(u, d); });
  });
  if (smearing) smear_gaussian(source.columns, *smearing->links, smearing->smearing, sink_time);
  return source;
}

/// The meson contraction - tr[Gamma S Gamma' gamma5 Y^dagger gamma5] with Gamma' = gamma_t gamma5 gamma_t =
/// -gamma5 is what is wanted; its phase has the other sign.
CorrelatorTable nucleon_three_point(const Propagator& sequential, const Propagator& S,
                                    const std::vector<GammaMatrix>& currents,
                                    const Momenta& momentum_transfers) {
  std::vector<MesonPair> pairs;
  for (const GammaMatrix& current : currents) pairs.push_back({current, gamma_product(15)});
  Momenta reversed = momentum_transfers;
  for (Momentum& n : reversed)
    for (int& k : n) k = -k;
  return meson_correlators(S, sequential, pairs, reversed);
}

}  // namespace trellis
