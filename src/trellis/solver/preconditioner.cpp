#include "trellis/solver/preconditioner.hpp"

#include <utility>

#include "trellis/base/error.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

class OperatorAsInverse final : public ApproximateInverse {
 public:
  explicit OperatorAsInverse(LinearOperatorPtr K) : K_{std::move(K)} {}
  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    K_->apply(z, r);
    cost.add_applications(*K_, r.rhs(), 1);
  }

 private:
  LinearOperatorPtr K_;
};

/// It keeps the operator of its own alive.
class OwnSolver final : public ApproximateInverse {
 public:
  OwnSolver(const SolverOfOperator& solver, Precision precision, int columns)
      : copies_{solver.A}, inside_{solver.solver->inside(copies_.in(precision), columns)} {}
  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override { inside_->apply(z, r, cost); }

 private:
  OperatorCopies copies_;
  std::unique_ptr<ApproximateInverse> inside_;
};

std::string kind_of_field(const SpinorField& f) {
  const FieldSpec& s = f.spec();
  const char* subset = s.subset == Subset::full ? "all" : s.subset == Subset::even ? "even" : "odd";
  return message(s.reals, " reals on ", subset, " sites of ", to_string(f.geometry().lattice()),
                 " over ranks ", to_string(f.geometry().grid().extents()),
                 s.slices > 1 ? message(", Ls = ", s.slices) : std::string(), ", on ", name_of(s.backend));
}

}  // namespace

void require_same_fields(const std::string& what, const LinearOperator& K, const LinearOperator& A,
                         int columns) {
  const SpinorField of_K = K.make_field(1), of_A = A.make_field(1);
  FieldSpec spec = of_K.spec();
  spec.precision = of_A.precision();
  spec.lanes = of_A.spec().lanes;
  TRELLIS_REQUIRE(spec == of_A.spec() && of_K.geometry() == of_A.geometry(), what, " acts on ",
                  kind_of_field(of_K), ", and cannot precondition ", A.name(), ", which acts on ",
                  kind_of_field(of_A));
  TRELLIS_REQUIRE(of_K.lattice_ptr() == of_A.lattice_ptr(), what, " and ", A.name(),
                  " live on two lattices of the same extents: make both from one");
  TRELLIS_REQUIRE(K.columns() == 0 || K.columns() == columns, what, " takes ", K.columns(),
                  " right-hand sides, and ", columns, " are solved together");
}

std::string Preconditioner::name(const LinearOperator& A) const {
  if (const auto* K = std::get_if<LinearOperatorPtr>(&content_)) return (*K)->name();
  if (const auto* solver = std::get_if<SolverSpec>(&content_)) return (*solver)->name(A);
  if (const auto* own = std::get_if<SolverOfOperator>(&content_))
    return message(own->solver->name(*own->A), " of ", own->A->name());
  return "";
}

std::string Preconditioner::words(const LinearOperator& A) const {
  return *this ? message(", preconditioned by (", name(A), ")") : "";
}

void Preconditioner::require_fit_for_cg(const LinearOperator& A) const {
  if (!*this) return;
  bool is_fit = false;
  if (const auto* K = std::get_if<LinearOperatorPtr>(&content_))
    is_fit = (*K)->is_linear() && (*K)->is_hermitian() && (*K)->is_positive();
  else if (const auto* solver = std::get_if<SolverSpec>(&content_))
    is_fit = (*solver)->is_linear_hermitian_positive();
  else if (const auto* own = std::get_if<SolverOfOperator>(&content_))
    is_fit = own->solver->is_linear_hermitian_positive();
  TRELLIS_REQUIRE(is_fit, "cg needs a preconditioner that is linear, hermitian and positive, and ", name(A),
                  " is not declared to be that: gcr takes any");
}

std::unique_ptr<ApproximateInverse> Preconditioner::bind(const OperatorCopies& A, int columns) const {
  if (!*this) return nullptr;
  if (const auto* solver = std::get_if<SolverSpec>(&content_)) return (*solver)->inside(A, columns);
  const std::string what = message("the preconditioner (", name(*A), ")");
  if (const auto* own = std::get_if<SolverOfOperator>(&content_)) {
    require_same_fields(what, *own->A, *A, columns);
    return std::make_unique<OwnSolver>(*own, A.precision(), columns);
  }
  const auto& K = std::get<LinearOperatorPtr>(content_);
  require_same_fields(what, *K, *A, columns);
  const bool is_alike = K->make_field(1).precision() == A.precision();
  return std::make_unique<OperatorAsInverse>(is_alike ? K : K->converted(A.precision()));
}

}  // namespace trellis
