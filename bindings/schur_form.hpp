#pragma once
/// Python names the even-odd form.
#include <optional>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/field/schur_operator.hpp"
#include "trellis/solver/solver_methods.hpp"

namespace trellis::bindings {

/// Returns nothing for "none".
inline std::optional<SchurForm> form_by_name(const std::string& name) {
  if (name == "none") return std::nullopt;
  return schur_form_by_name(name);
}

/// Returns the Schur complement of M, or throws BadArgument.
inline std::shared_ptr<const SchurOperator> require_schur(const LinearOperator& M, SchurForm form) {
  auto S = M.schur(form);
  if (!S) throw BadArgument(message(M.name(), " has no even-odd form"));
  return S;
}

}  // namespace trellis::bindings
