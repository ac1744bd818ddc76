#pragma once
/// The even-odd form that Python names.
#include <optional>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis::bindings {

inline std::optional<SchurForm> schur_form_by_name(const std::string& name) {
  if (name == "none") return std::nullopt;
  if (name == "symmetric") return SchurForm::symmetric;
  if (name == "asymmetric") return SchurForm::asymmetric;
  throw BadArgument(message("unknown even-odd form '", name, "'; legal: none, symmetric, asymmetric"));
}

}  // namespace trellis::bindings
