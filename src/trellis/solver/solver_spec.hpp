#pragma once
/// Solvers as values: a spec says which method and how far; solve() runs it.
///
///   solve(MixedPrecisionSpec{CgSpec{.tolerance = 1e-10}, Precision::half_precision}, A, x, b)
///
/// A tolerance is |b - A x| / |b| of every right-hand side, always of the true residual in double.
///
/// A solve that is stuck ends as stagnated, long before its iterations run out (stagnation.hpp). The
/// outermost solve then goes on from the best solution so far with a surer method: conjugate gradients in the
/// same storage, then in the next wider one, each with max_iterations of its own, unless `fallback` is false.
#include <memory>
#include <variant>

#include "trellis/base/precision.hpp"

namespace trellis {

/// Conjugate gradients: of A itself where A is hermitian (and positive), else on the normal equations, in the
/// form that keeps r = b - A x and its image A^dagger r (CGLS), so that it stops on the residual asked for.
struct CgSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  bool records_history = false;
  bool fallback = true;  ///< see above
};

/// BiCGStab (van der Vorst 1992); an iteration applies A twice.
struct BicgstabSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  bool records_history = false;
  bool fallback = true;  ///< see above
};

/// GCR, restarted every `restart_length` steps; the iterates are those of restarted (F)GMRES.
struct GcrSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  int restart_length = 16;
  bool records_history = false;
  bool fallback = true;  ///< see above
};

/// Minimal residual: x += relaxation (<Ar, r> / |Ar|^2) r. Needs a positive hermitian part; a smoother more
/// than a solver.
struct MrSpec {
  double tolerance = 1e-10;
  int max_iterations = 10000;
  double relaxation = 1.0;
  bool records_history = false;
  bool fallback = true;  ///< see above
};

using KrylovSpec = std::variant<CgSpec, BicgstabSpec, GcrSpec, MrSpec>;

/// Iterates in low storage and corrects from residuals recomputed in double. CG keeps its direction across
/// the corrections (reliable updates, M. A. Clark et al., Comput. Phys. Commun. 181 (2010) 1517); the other
/// methods begin anew (defect correction).
struct MixedPrecisionSpec {
  KrylovSpec inner = CgSpec{};
  Precision precision = Precision::single_precision;
  /// The residual is recomputed in double when it has dropped by this factor; 0 chooses by method and
  /// precision.
  double update_threshold = 0;
};

class Eigenvectors;  // eigen/eigenvectors.hpp

/// Another solver, started from x += V lambda^-1 V^dagger A^dagger (b - A x) with low modes V of A^dagger A.
/// What the solver then adds has those modes again, as far as V is inexact: the residual is deflated anew
/// each time that it has dropped by `reduction`.
struct DeflatedSpec {
  std::variant<CgSpec, BicgstabSpec, GcrSpec, MrSpec, MixedPrecisionSpec> solver = CgSpec{};
  std::shared_ptr<const Eigenvectors> vectors;
  double reduction = 0;  ///< 0: by the storage of the vectors, 1e-4, in 16 bits 1e-3
};

using SolverSpec = std::variant<CgSpec, BicgstabSpec, GcrSpec, MrSpec, MixedPrecisionSpec, DeflatedSpec>;

}  // namespace trellis
