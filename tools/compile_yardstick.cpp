// A fixed piece of work for the compiler: tools/compile_time_report.py measures with it how fast a machine
// compiles. It is like the tree's kernels (templates that unroll, vectors, lambdas) and like its host code
// (containers, strings, streams). It stays as it is: a changed file is another yardstick.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace yardstick {

template <class R, int W>
struct Pack {
  R v[W];
  friend Pack operator+(Pack a, const Pack& b) {
    for (int i = 0; i < W; ++i) a.v[i] += b.v[i];
    return a;
  }
  friend Pack operator-(Pack a, const Pack& b) {
    for (int i = 0; i < W; ++i) a.v[i] -= b.v[i];
    return a;
  }
  friend Pack operator*(Pack a, const Pack& b) {
    for (int i = 0; i < W; ++i) a.v[i] *= b.v[i];
    return a;
  }
};

template <class T>
struct Complex {
  T re, im;
  friend Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <class F, int... I>
__attribute__((always_inline)) inline void unroll(std::integer_sequence<int, I...>, const F& f) {
  (f(std::integral_constant<int, I>{}), ...);
}
template <int N, class F>
__attribute__((always_inline)) inline void unroll(const F& f) {
  unroll(std::make_integer_sequence<int, N>{}, f);
}

template <class T, int N>
struct Matrix {
  Complex<T> c[N][N];
};

template <class T, int N>
__attribute__((always_inline)) inline Matrix<T, N> product(const Matrix<T, N>& a, const Matrix<T, N>& b) {
  Matrix<T, N> result;
  unroll<N>([&](auto i) {
    unroll<N>([&](auto j) {
      Complex<T> sum = a.c[i][0] * b.c[0][j];
      unroll<N - 1>([&](auto k) { sum = sum + a.c[i][k + 1] * b.c[k + 1][j]; });
      result.c[i][j] = sum;
    });
  });
  return result;
}

template <class T, int N>
__attribute__((noinline)) void staples(Matrix<T, N>* out, const Matrix<T, N>* links, const int* neighbours,
                                       int sites) {
  for (int site = 0; site < sites; ++site) {
    Matrix<T, N> sum = links[site];
    for (int leg = 0; leg < 6; ++leg) {
      const Matrix<T, N> there = links[neighbours[6 * site + leg]];
      const Matrix<T, N> path = product(there, product(links[site], there));
      unroll<N * N>([&](auto k) { sum.c[k / N][k % N] = sum.c[k / N][k % N] + path.c[k / N][k % N]; });
    }
    out[site] = sum;
  }
}

template void staples<Pack<double, 4>, 2>(Matrix<Pack<double, 4>, 2>*, const Matrix<Pack<double, 4>, 2>*,
                                          const int*, int);
template void staples<Pack<float, 8>, 3>(Matrix<Pack<float, 8>, 3>*, const Matrix<Pack<float, 8>, 3>*,
                                         const int*, int);

std::map<std::string, std::vector<double>> columns(const std::string& text) {
  std::map<std::string, std::vector<double>> result;
  const std::regex line("([a-z]+) *= *([0-9.e+-]+)");
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) {
    std::smatch match;
    if (std::regex_match(each, match, line)) result[match[1]].push_back(std::stod(match[2]));
  }
  for (auto& [name, values] : result) std::sort(values.begin(), values.end(), std::greater<>());
  return result;
}

std::vector<std::function<double(double)>> noise(unsigned seed) {
  auto engine = std::make_shared<std::mt19937_64>(seed);
  std::vector<std::function<double(double)>> result;
  result.emplace_back([engine](double width) { return std::normal_distribution<double>(0, width)(*engine); });
  result.emplace_back([engine](double rate) { return std::gamma_distribution<double>(rate)(*engine); });
  return result;
}

}  // namespace yardstick
