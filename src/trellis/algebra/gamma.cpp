#include "trellis/algebra/gamma.hpp"

#include <sstream>

#include "trellis/base/error.hpp"

namespace trellis {

namespace {
constexpr const char* legal_names =
    "1, gamma5, gamma_x, gamma_y, gamma_z, gamma_t, sigma_xy ... sigma_zt, and products separated by blanks";

int direction(char c) {
  const std::string names = "xyzt";
  const auto at = names.find(c);
  return at == std::string::npos ? -1 : int(at);
}

GammaMatrix factor_by_name(const std::string& word, const std::string& whole) {
  if (word == "1") return gamma_product(0);
  if (word == "gamma5" || word == "gamma_5") return gamma_product(15);
  if (word.size() == 7 && word.rfind("gamma_", 0) == 0 && direction(word[6]) >= 0)
    return gamma_mu(direction(word[6]));
  if (word.size() == 8 && word.rfind("sigma_", 0) == 0) {
    const int mu = direction(word[6]), nu = direction(word[7]);
    if (mu >= 0 && nu >= 0 && mu != nu) return i1 * (gamma_mu(mu) * gamma_mu(nu));
  }
  throw BadArgument(message("unknown gamma matrix '", word, "' in '", whole, "'; legal: ", legal_names));
}
}  // namespace

GammaMatrix operator*(const GammaMatrix& a, const GammaMatrix& b) {
  GammaMatrix r;
  for (int row = 0; row < 4; ++row) {
    r.column[row] = b.column[a.column[row]];
    r.phase[row] = a.phase[row] * b.phase[a.column[row]];
  }
  return r;
}

GammaMatrix operator*(std::complex<double> s, const GammaMatrix& a) {
  GammaMatrix r = a;
  for (auto& p : r.phase) p *= s;
  return r;
}

GammaMatrix transpose(const GammaMatrix& a) {
  GammaMatrix r;
  for (int row = 0; row < 4; ++row) {
    r.column[a.column[row]] = row;
    r.phase[a.column[row]] = a.phase[row];
  }
  return r;
}

GammaMatrix adjoint(const GammaMatrix& a) {
  GammaMatrix r = transpose(a);
  for (auto& p : r.phase) p = std::conj(p);
  return r;
}

bool operator==(const GammaMatrix& a, const GammaMatrix& b) {
  return a.column == b.column && a.phase == b.phase;
}

GammaMatrix gamma_mu(int mu) {
  TRELLIS_REQUIRE(mu >= 0 && mu < 4, "gamma_mu: direction ", mu, " is not in 0..3");
  const GammaMatrix table[4] = {
      {{3, 2, 1, 0}, {i1, i1, -i1, -i1}},
      {{3, 2, 1, 0}, {-1.0, 1.0, 1.0, -1.0}},
      {{2, 3, 0, 1}, {i1, -i1, -i1, i1}},
      {{2, 3, 0, 1}, {1.0, 1.0, 1.0, 1.0}},
  };
  return table[mu];
}

GammaMatrix gamma_product(int n) {
  TRELLIS_REQUIRE(n >= 0 && n < 16, "gamma_product: index ", n, " is not in 0..15");
  GammaMatrix r;
  for (int mu = 0; mu < 4; ++mu)
    if (n >> mu & 1) r = r * gamma_mu(mu);
  return r;
}

GammaMatrix gamma_by_name(const std::string& name) {
  std::istringstream words(name);
  std::string word;
  GammaMatrix r;
  int count = 0;
  while (words >> word) {
    r = r * factor_by_name(word, name);
    ++count;
  }
  if (count == 0) throw BadArgument(message("empty gamma matrix name; legal: ", legal_names));
  return r;
}

}  // namespace trellis
