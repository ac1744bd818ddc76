#pragma once
/// The methods of this build have names, and parameters as text files and other languages give them.
///
/// Each file x.cpp in methods/ defines `x_method`; CMake writes the list of them.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "trellis/field/schur_operator.hpp"
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/prepared.hpp"
#include "trellis/solver/solver_spec.hpp"

namespace trellis {

class SolverParameters {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, SolverSpec, Preconditioner, PreparedPtr>;
  SolverParameters(std::string method, std::map<std::string, Value> values)
      : method_{std::move(method)}, values_{std::move(values)} {}

  /// Sets `target` where the parameter is given. Throws BadArgument where it is of another kind.
  void take(const std::string& name, bool& target) const;
  void take(const std::string& name, int& target) const;
  void take(const std::string& name, double& target) const;
  void take(const std::string& name, Precision& target) const;
  void take(const std::string& name, SchurForm& target) const;
  void take(const std::string& name, Preconditioner& target) const;
  void take(const std::string& name, PreparedPtr& target) const;
  /// Returns the solver of that name. Throws BadArgument where it is missing.
  SolverSpec solver(const std::string& name) const;
  /// Takes the limits of a method that iterates.
  template <class Spec>
  void take_limits(Spec& spec) const {
    take("tolerance", spec.tolerance);
    take("max_iterations", spec.max_iterations);
    take("records_history", spec.records_history);
    take("fallback", spec.fallback);
    take("iterations", spec.iterations);
  }
  /// Throws BadArgument that names a parameter which the method does not have.
  void require_all_taken() const;

 private:
  template <class T>
  const T* find(const std::string& name, const char* kind) const;
  std::string method_;
  std::map<std::string, Value> values_;
  mutable std::set<std::string> known_;
};

struct SolverMethod {
  const char* name;
  SolverSpec (*make)(const SolverParameters&);
};

const std::vector<const SolverMethod*>& solver_methods();
/// Makes a solver. Throws BadArgument for an unknown method, with the known ones, or parameter.
SolverSpec solver_by_name(const std::string& method, std::map<std::string, SolverParameters::Value> values);

SchurForm schur_form_by_name(const std::string& name);
const char* name_of(SchurForm form);

}  // namespace trellis
