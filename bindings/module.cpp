/// The Python module trellis._core. Users import trellis, whose classes hold those of this module.
#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "Compiled part of trellis; import trellis instead.";
  trellis::bindings::bind_errors(m);
  trellis::bindings::bind_machine(m);
  trellis::bindings::bind_lattice(m);
  trellis::bindings::bind_gauge(m);
  trellis::bindings::bind_operator(m);
  trellis::bindings::bind_io(m);
}
