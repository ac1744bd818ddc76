#include "trellis/measure/baryon_operators.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr Flavour u = Flavour::up, d = Flavour::down, s = Flavour::strange;

/// They are the two flavours of eps (q1 G q2) q1 and of eps q1 q1 q2.
struct TwoFlavours {
  const char* name;
  Flavour q1, q2;
};
constexpr TwoFlavours octet_flavours[] = {{"proton", u, d},      {"neutron", d, u}, {"sigma_plus", u, s},
                                          {"sigma_minus", d, s}, {"xi_zero", s, u}, {"xi_minus", s, d}};
constexpr TwoFlavours decuplet_flavours[] = {
    {"delta_plus_plus", u, u}, {"delta_plus", u, d},      {"delta_zero", d, u},
    {"delta_minus", d, d},     {"sigma_star_plus", u, s}, {"sigma_star_minus", d, s},
    {"xi_star_zero", s, u},    {"xi_star_minus", s, d},   {"omega_minus", s, s}};

const TwoFlavours* find(const TwoFlavours* begin, const TwoFlavours* end, const std::string& name) {
  const TwoFlavours* at = std::find_if(begin, end, [&](const TwoFlavours& f) { return name == f.name; });
  return at == end ? nullptr : at;
}
const TwoFlavours* find_octet(const std::string& name) {
  return find(std::begin(octet_flavours), std::end(octet_flavours), name);
}
const TwoFlavours* find_decuplet(const std::string& name) {
  return find(std::begin(decuplet_flavours), std::end(decuplet_flavours), name);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse(const std::string& name, bool also_octet, bool also_decuplet) {
  std::string legal;
  if (also_octet)
    for (const auto& n : octet_names()) legal += " " + n;
  if (also_decuplet)
    for (const auto& n : decuplet_names()) legal += " " + n;
  throw BadArgument(message("no baryon '", name, "'; legal:", legal));
}

/// Applies I_- / sqrt2: each u in turn becomes d.
template <class Operator>
Operator isospin_lowered(const Operator& in) {
  Operator out;
  for (const auto& term : in)
    for (size_t i = 0; i < 3; ++i)
      if (term.quarks[i] == u) {
        auto lowered = term;
        lowered.quarks[i] = d;
        lowered.coefficient /= std::sqrt(2.0);
        out.push_back(lowered);
      }
  return out;
}

ProjectedOperator projected_octet(Flavour q1, Flavour q2, Flavour q3, bool is_up) {
  const int up = is_up ? 1 : 0, down = 1 - up;
  const double norm = 1 / std::sqrt(2.0);
  return {{norm, {q1, q2, q3}, {up, down, up}}, {-norm, {q1, q2, q3}, {down, up, up}}};
}

ProjectedOperator projected_decuplet(Flavour q1, Flavour q2, int twice_spin) {
  const int up = twice_spin > 0 ? 1 : 0, down = 1 - up;
  if (std::abs(twice_spin) == 3) return {{1.0, {q1, q1, q2}, {up, up, up}}};
  return {{2 / std::sqrt(3.0), {q1, q1, q2}, {up, down, up}},
          {1 / std::sqrt(3.0), {q1, q1, q2}, {up, up, down}}};
}
}  // namespace

const std::vector<std::string>& octet_names() {
  static const std::vector<std::string> names{"proton",      "neutron", "sigma_plus", "sigma_zero",
                                              "sigma_minus", "xi_zero", "xi_minus",   "lambda"};
  return names;
}

const std::vector<std::string>& decuplet_names() {
  static const std::vector<std::string> names{
      "delta_plus_plus", "delta_plus",       "delta_zero",   "delta_minus",   "sigma_star_plus",
      "sigma_star_zero", "sigma_star_minus", "xi_star_zero", "xi_star_minus", "omega_minus"};
  return names;
}

bool is_decuplet(const std::string& name) { return contains(decuplet_names(), name); }

GammaMatrix decuplet_diquark(int k) {
  TRELLIS_REQUIRE(k >= 0 && k < 3, "direction ", k, " of a decuplet diquark is not 0, 1 or 2");
  return gamma_mu(1) * gamma_mu(3) * gamma_mu(k);
}

GammaMatrix octet_diquark() { return gamma_mu(1) * gamma_mu(3) * gamma_product(15); }

DiquarkOperator diquark_operator(const std::string& name) {
  if (name == "lambda") {
    const double norm = 1 / std::sqrt(6.0);
    return {{2 * norm, {u, d, s}}, {norm, {u, s, d}}, {-norm, {d, s, u}}};
  }
  if (name == "sigma_zero") return isospin_lowered(diquark_operator("sigma_plus"));
  if (const TwoFlavours* f = find_octet(name)) return {{1.0, {f->q1, f->q2, f->q1}}};
  refuse(name, true, false);
}

DiquarkOperator decuplet_operator(const std::string& name) {
  if (name == "sigma_star_zero") return isospin_lowered(decuplet_operator("sigma_star_plus"));
  const TwoFlavours* f = find_decuplet(name);
  if (!f) refuse(name, false, true);
  if (f->q1 == f->q2) return {{1.0, {f->q1, f->q1, f->q1}}};
  const double norm = 1 / std::sqrt(3.0);
  return {{2 * norm, {f->q1, f->q2, f->q1}}, {norm, {f->q1, f->q1, f->q2}}};
}

ProjectedOperator projected_operator(const std::string& name, int twice_spin) {
  const std::vector<int> legal = spin_states(name);
  TRELLIS_REQUIRE(std::find(legal.begin(), legal.end(), twice_spin) != legal.end(), name,
                  " has no state of twice spin ", twice_spin);
  if (name == "lambda") return projected_octet(u, d, s, twice_spin > 0);
  if (name == "sigma_zero") return isospin_lowered(projected_operator("sigma_plus", twice_spin));
  if (name == "sigma_star_zero") return isospin_lowered(projected_operator("sigma_star_plus", twice_spin));
  if (const TwoFlavours* f = find_octet(name)) return projected_octet(f->q1, f->q2, f->q1, twice_spin > 0);
  const TwoFlavours* f = find_decuplet(name);
  return projected_decuplet(f->q1, f->q2, twice_spin);
}

std::vector<int> spin_states(const std::string& name) {
  if (contains(octet_names(), name)) return {1, -1};
  if (contains(decuplet_names(), name)) return {3, 1, -1, -3};
  refuse(name, true, true);
}

}  // namespace trellis
