#pragma once
/// This file has numbers of mg_gold.json, vectors of multigrid levels as dense ones, and Krylov spaces of
/// small matrices.
#include "reference/multigrid/cycle.hpp"
#include "tests/support/dense.hpp"
#include "tests/support/external_data.hpp"
#include "tests/support/random_fields.hpp"

namespace trellis::test {

/// Returns the value of one entry of mg_gold.json.
const nlohmann::json& multigrid_gold(const std::string& id);

inline DenseVector to_dense(const reference::LevelVector& v) {
  DenseVector d(Eigen::Index(v.size()));
  for (size_t i = 0; i < v.size(); ++i) d[Eigen::Index(i)] = reference::to_std(v[i]);
  return d;
}
inline reference::LevelVector to_level(const DenseVector& d) {
  reference::LevelVector v(size_t(d.size()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = reference::to_complex(d[Eigen::Index(i)]);
  return v;
}
inline DenseMatrix to_dense(const reference::Matrix& A) {
  DenseMatrix d(A.rows, A.columns);
  for (int i = 0; i < A.rows; ++i)
    for (int j = 0; j < A.columns; ++j) d(i, j) = reference::to_std(A(i, j));
  return d;
}
inline DenseMatrix dense_matrix(size_t size, const reference::LevelMap& M) {
  return dense_matrix(int(size), [&](const DenseVector& v) { return to_dense(M(to_level(v))); });
}

inline double relative_error(const reference::LevelVector& a, const reference::LevelVector& b) {
  return std::sqrt(reference::norm2(reference::difference(a, b)) / reference::norm2(b));
}

inline reference::LevelVector random_level_vector(size_t size, uint64_t seed) {
  Random random(seed);
  reference::LevelVector v(size);
  for (auto& component : v) component = random.complex();
  return v;
}
inline std::vector<reference::LevelVector> random_level_vectors(size_t size, int count, uint64_t seed) {
  std::vector<reference::LevelVector> vectors;
  for (int k = 0; k < count; ++k) vectors.push_back(random_level_vector(size, 1000 * seed + uint64_t(k)));
  return vectors;
}

/// Sets every option of Wilson fermions.
inline reference::WilsonParameters all_wilson_options() {
  reference::WilsonParameters p;
  p.mass = -0.1;
  p.boundary = {std::polar(1.0, 0.3), 1.0, -1.0, -1.0};
  p.c_r = 0.9;
  p.c_t = 1.3;
  p.nu = 0.95;
  p.xi0 = 1.4;
  p.twisted_mass = 0.17;
  return p;
}

/// Makes the finest level on random links.
inline std::shared_ptr<const reference::WilsonLevel> random_level(const Coord& L, uint64_t seed,
                                                                  const reference::WilsonParameters& p,
                                                                  double even_twisted_mass = 0) {
  return std::make_shared<const reference::WilsonLevel>(
      reference::WilsonOperator(random_gauge(L, seed, 1.0), p), even_twisted_mass);
}

/// Returns v -> D v; D has to outlive it.
inline reference::LevelMap map_of(const reference::LevelOperator& D) {
  return [&](const reference::LevelVector& v) { return D.apply(v); };
}

/// Returns the largest |A_ij|.
inline double largest(const DenseMatrix& A) { return A.cwiseAbs().maxCoeff(); }

/// Returns hash vector k of gold.md and mg_gold.json for `size` components: u(n) - 1/2 at n = 2 (size k +
/// component) and one behind.
inline reference::LevelVector hash_level_vector(size_t size, uint64_t k) {
  reference::LevelVector v(size);
  for (uint64_t i = 0; i < size; ++i)
    v[i] = {hash_uniform(2 * (size * k + i)) - 0.5, hash_uniform(2 * (size * k + i) + 1) - 0.5};
  return v;
}
inline std::vector<reference::LevelVector> hash_level_vectors(size_t size, int count) {
  std::vector<reference::LevelVector> vectors;
  for (int k = 0; k < count; ++k) vectors.push_back(hash_level_vector(size, uint64_t(k)));
  return vectors;
}

/// This struct holds a Krylov space of M: V^dagger M V = H and V^dagger V = 1.
struct Krylov {
  DenseMatrix V, H;
};

/// Does Arnoldi steps with full orthogonalisation, twice.
Krylov arnoldi(Eigen::Index size, const std::function<DenseVector(const DenseVector&)>& M, int steps);

/// Returns the Ritz values of any matrix.
DenseVector arnoldi_eigenvalues(Eigen::Index size, const std::function<DenseVector(const DenseVector&)>& M,
                                int steps);

}  // namespace trellis::test
