#include "trellis/solver/solver_methods.hpp"

#include <limits>

#include "trellis/base/error.hpp"

namespace trellis {

template <class T>
const T* SolverParameters::find(const std::string& name, const char* kind) const {
  known_.insert(name);
  const auto at = values_.find(name);
  if (at == values_.end()) return nullptr;
  const T* value = std::get_if<T>(&at->second);
  if (!value) throw BadArgument(message(name, " of the solver ", method_, " must be ", kind));
  return value;
}

void SolverParameters::take(const std::string& name, bool& target) const {
  if (const auto* value = find<bool>(name, "true or false")) target = *value;
}
void SolverParameters::take(const std::string& name, int& target) const {
  const auto* value = find<int64_t>(name, "an integer");
  if (!value) return;
  if (*value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
    throw BadArgument(message(name, " of the solver ", method_, " is ", *value, ": too large"));
  target = int(*value);
}
void SolverParameters::take(const std::string& name, double& target) const {
  if (const auto* value = find<double>(name, "a real number")) target = *value;
}
void SolverParameters::take(const std::string& name, Precision& target) const {
  if (const auto* value = find<std::string>(name, "the name of a precision"))
    target = precision_by_name(*value);
}
void SolverParameters::take(const std::string& name, SchurForm& target) const {
  if (const auto* value = find<std::string>(name, "the name of an even-odd form"))
    target = schur_form_by_name(*value);
}
void SolverParameters::take(const std::string& name, Preconditioner& target) const {
  const auto at = values_.find(name);
  if (at != values_.end() && std::holds_alternative<SolverSpec>(at->second)) {
    known_.insert(name);
    target = Preconditioner(std::get<SolverSpec>(at->second));
  } else if (const auto* value = find<Preconditioner>(name, "a solver or an operator")) {
    target = *value;
  }
}
void SolverParameters::take(const std::string& name, PreparedPtr& target) const {
  if (const auto* value = find<PreparedPtr>(name, "something prepared for an operator")) target = *value;
}
SolverSpec SolverParameters::solver(const std::string& name) const {
  const auto* value = find<SolverSpec>(name, "a solver");
  if (!value) throw BadArgument(message("the solver ", method_, " needs '", name, "'"));
  return *value;
}

void SolverParameters::require_all_taken() const {
  for (const auto& [name, value] : values_) {
    if (known_.count(name)) continue;
    std::string known;
    for (const std::string& k : known_) known += (known.empty() ? "" : ", ") + k;
    throw BadArgument(message("the solver ", method_, " has no parameter '", name, "'; it has ", known));
  }
}

SolverSpec solver_by_name(const std::string& method, std::map<std::string, SolverParameters::Value> values) {
  const SolverParameters parameters(method, std::move(values));
  std::string known;
  for (const SolverMethod* m : solver_methods()) {
    if (m->name == method) {
      SolverSpec spec = m->make(parameters);
      parameters.require_all_taken();
      return spec;
    }
    known += (known.empty() ? "" : ", ") + std::string(m->name);
  }
  throw BadArgument(message("unknown solver '", method, "'; known: ", known));
}

SchurForm schur_form_by_name(const std::string& name) {
  if (name == "symmetric") return SchurForm::symmetric;
  if (name == "asymmetric") return SchurForm::asymmetric;
  throw BadArgument(message("unknown even-odd form '", name, "'; legal: symmetric, asymmetric"));
}

const char* name_of(SchurForm form) { return form == SchurForm::symmetric ? "symmetric" : "asymmetric"; }

}  // namespace trellis
