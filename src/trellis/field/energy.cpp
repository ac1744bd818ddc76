#include "trellis/field/energy.hpp"

namespace trellis {

Coefficients real_dot_each(const SpinorField& x, const SpinorField& y) {
  Coefficients parts;
  for (const auto& v : dot_each(x, y)) parts.push_back(v.real());
  return parts;
}

Coefficients apply_with_energy(const LinearOperator& A, SpinorField& out, const SpinorField& in) {
  if (const auto* sum = dynamic_cast<const EnergySum*>(&A)) return sum->apply_with_energy(out, in);
  A.apply(out, in);
  return real_dot_each(in, out);
}

int energy_fields(const LinearOperator& A) {
  const auto* sum = dynamic_cast<const EnergySum*>(&A);
  return sum ? sum->energy_fields() : 2;
}

}  // namespace trellis
