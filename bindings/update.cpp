/// Python gets Markov chains here.
#include "bindings.hpp"
#include "trellis/field/hop_links.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bindings {

void bind_update(nb::module_& m) {
  m.def("set_hot", &set_hot, "U"_a, "seed"_a, "stream"_a, release_gil());
  m.def("set_weak", &set_weak, "U"_a, "size"_a, "seed"_a, "stream"_a, release_gil());
  m.def("reunitarise_links", &reunitarise_links, "U"_a, release_gil());
  m.def("link_reals_of", &link_reals_of, "U"_a, release_gil());
  nb::class_<Heatbath>(m, "Heatbath")
      .def(
          "__init__",
          [](Heatbath* self, double beta, int heatbath_sweeps, int overrelaxation_sweeps) {
            new (self) Heatbath({beta, heatbath_sweeps, overrelaxation_sweeps});
          },
          "beta"_a, "heatbath_sweeps"_a, "overrelaxation_sweeps"_a)
      .def("update", &Heatbath::update, "U"_a, "seed"_a, "stream"_a, "trajectory"_a, release_gil())
      .def_prop_ro("flops_per_site", &Heatbath::flops_per_site);
}

}  // namespace trellis::bindings
