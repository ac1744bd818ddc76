/// This is the Python module trellis._core. Users import trellis, whose classes hold those of this module.
#include "bindings.hpp"
#include "trellis/base/instruction_set.hpp"

namespace {
/// Throws before any kernel runs: an illegal instruction would end Python without a word.
void require_instruction_sets() {
  std::string missing;
  for (const std::string& name : trellis::missing_instruction_sets()) missing += " " + name;
  if (!missing.empty())
    throw nanobind::import_error(
        ("this build of trellis needs instructions that this processor lacks:" + missing +
         "; build it for this machine, or with -DTRELLIS_ARCH=x86-64-v3 or lower")
            .c_str());
}
}  // namespace

NB_MODULE(_core, m) {
  require_instruction_sets();
  m.doc() = "Compiled part of trellis; import trellis instead.";
  trellis::bindings::bind_errors(m);
  trellis::bindings::bind_interruption(m);
  trellis::bindings::bind_machine(m);
  trellis::bindings::bind_tuner(m);
  trellis::bindings::bind_lattice(m);
  trellis::bindings::bind_gauge(m);
  trellis::bindings::bind_update(m);
  trellis::bindings::bind_hmc(m);
  trellis::bindings::bind_fermion_monomials(m);
  trellis::bindings::bind_operator(m);
  trellis::bindings::bind_solver(m);
  trellis::bindings::bind_custom_operator(m);
  trellis::bindings::bind_eigen(m);
  trellis::bindings::bind_multigrid(m);
  trellis::bindings::bind_staggered(m);
  trellis::bindings::bind_measure(m);
  trellis::bindings::bind_staggered_propagator(m);
  trellis::bindings::bind_domain_wall(m);
  trellis::bindings::bind_three_point(m);
  trellis::bindings::bind_io(m);
  trellis::bindings::bind_hdf5(m);
  trellis::bindings::bind_glass(m);
}
