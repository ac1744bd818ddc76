#pragma once
/// The even-odd form that Python names.
#include <optional>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/field/schur_operator.hpp"

namespace trellis::bindings {

inline std::optional<SchurForm> schur_form_by_name(const std::string& name) {
  if (name == "none") return std::nullopt;
  if (name == "symmetric") return SchurForm::symmetric;
  if (name == "asymmetric") return SchurForm::asymmetric;
  throw BadArgument(message("unknown even-odd form '", name, "'; legal: none, symmetric, asymmetric"));
}

/// The Schur complement of M, or BadArgument.
inline std::shared_ptr<const SchurOperator> require_schur(const LinearOperator& M, SchurForm form) {
  auto S = M.schur(form);
  if (!S) throw BadArgument(message(M.name(), " has no even-odd form"));
  return S;
}

}  // namespace trellis::bindings
