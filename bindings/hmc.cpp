/// Python gets molecular dynamics here: monomials, integrators, trajectories.
#include "trellis/update/hmc.hpp"
#include "bindings.hpp"
#include "trellis/update/fermion_monomial.hpp"
#include "trellis/update/gauge_monomial.hpp"

namespace trellis::bindings {

namespace {
using LevelTuple = std::tuple<std::string, int, double, std::vector<MonomialPtr>>;

std::vector<IntegratorLevel> to_levels(const std::vector<LevelTuple>& tuples) {
  std::vector<IntegratorLevel> levels;
  for (const auto& [scheme, steps, lambda, monomials] : tuples)
    levels.push_back({scheme_of(scheme), steps, lambda, monomials});
  return levels;
}

nb::dict to_dict(const PartCosts& costs) {
  nb::dict d;
  for (int k = 0; k < parts; ++k) {
    const PartCost& cost = costs[Part(k)];
    nb::dict one;
    one["seconds"] = cost.seconds;
    one["flops"] = cost.flops;
    one["bytes"] = cost.bytes;
    d[name_of(Part(k))] = one;
  }
  return d;
}

nb::dict to_dict(const MonomialRecord& m) {
  nb::dict d;
  d["name"] = m.name;
  d["action_before"] = m.action_before;
  d["action_after"] = m.action_after;
  d["force_mean"] = m.force.mean;
  d["force_largest"] = m.force.largest;
  d["force_evaluations"] = m.force_evaluations;
  d["solves"] = m.solves.solves;
  d["iterations"] = m.solves.iterations;
  d["largest_residual"] = m.solves.largest_residual;
  d["multigrid_setups"] = m.solves.setups;
  d["multigrid_sweeps"] = m.solves.sweeps;
  d["multigrid_fallbacks"] = m.solves.fallbacks;
  return d;
}

nb::dict to_dict(const TrajectoryRecord& r) {
  nb::dict d;
  d["dH"] = r.dH;
  d["is_accepted"] = r.is_accepted;
  d["is_valid"] = r.is_valid;
  d["kinetic_before"] = r.kinetic_before;
  d["kinetic_after"] = r.kinetic_after;
  d["guarded_links"] = r.guarded_links;
  d["seconds"] = r.seconds;
  nb::list monomials;
  for (const MonomialRecord& m : r.monomials) monomials.append(to_dict(m));
  d["monomials"] = monomials;
  d["parts"] = to_dict(r.costs);
  return d;
}
}  // namespace

void bind_hmc(nb::module_& m) {
  nb::class_<Monomial>(m, "Monomial")
      .def_prop_ro("name", &Monomial::name)
      .def(
          "draw",
          [](Monomial& monomial, const GaugeField& U, uint64_t seed, uint64_t stream, uint32_t number) {
            monomial.refresh(U, {seed, stream, number});
          },
          "U"_a, "seed"_a, "stream"_a, "number"_a, release_gil())
      .def("action", &Monomial::action, "U"_a, release_gil())
      .def_prop_ro("guarded_links",
                   [](Monomial& monomial) {
                     auto* fermion = dynamic_cast<FermionMonomial*>(&monomial);
                     return fermion ? fermion->links()->guarded_links() : 0;
                   })
      .def(
          "force",
          [](Monomial& monomial, const GaugeField& U) {
            const Coord& n = U.geometry().local();
            std::vector<double> components(size_t(U.geometry().local_volume()) * 4 * 8);
            {
              const nb::gil_scoped_release release;
              if (auto* fermion = dynamic_cast<FermionMonomial*>(&monomial))
                fermion->links()->guarded_links() = 0;
              AlgebraField F(U);
              monomial.add_force(F, U, 1.0);
              F.to_canonical(components.data());
            }
            return to_array(components, {size_t(n[3]), size_t(n[2]), size_t(n[1]), size_t(n[0]), 4, 8});
          },
          "U"_a);
  m.def(
      "gauge_monomial",
      [](const std::string& name, double beta, double c1,
         const std::string& dynamics_precision) -> MonomialPtr {
        return std::make_shared<GaugeMonomial>(name, GaugeAction{beta, c1},
                                               precision_by_name(dynamics_precision));
      },
      "name"_a, "beta"_a, "c1"_a, "dynamics_precision"_a = "double");
  nb::class_<Hmc>(m, "Hmc")
      .def(
          "__init__",
          [](Hmc* self, uint64_t seed, uint64_t stream, double length,
             const std::vector<LevelTuple>& levels) {
            new (self) Hmc({seed, stream, length}, to_levels(levels));
          },
          "seed"_a, "stream"_a, "length"_a, "levels"_a)
      .def(
          "trajectory",
          [](Hmc& hmc, GaugeField& U, uint32_t number, bool tests, const nb::object& is_covered) {
            const auto ask = [&](const GaugeField& V) {
              const nb::gil_scoped_acquire acquire;
              return nb::cast<bool>(is_covered(nb::cast(V, nb::rv_policy::copy)));
            };
            const TrajectoryRecord record = [&] {
              const nb::gil_scoped_release release;
              return hmc.trajectory(U, number, tests, is_covered.is_none() ? Hmc::IsCovered() : ask);
            }();
            return to_dict(record);
          },
          "U"_a, "number"_a, "tests"_a, "is_covered"_a.none() = nb::none())
      .def(
          "reversibility",
          [](Hmc& hmc, const GaugeField& U, uint32_t number) {
            const Reversibility found = [&] {
              const nb::gil_scoped_release release;
              return hmc.reversibility(U, number);
            }();
            nb::dict d;
            d["links"] = found.links;
            d["momenta"] = found.momenta;
            d["dH"] = found.dH;
            return d;
          },
          "U"_a, "number"_a)
      .def_prop_ro("failed_links", [](Hmc& hmc) { return hmc.failed_links().links(); })
      .def_prop_ro("failed_stage", [](Hmc& hmc) { return hmc.failed_links().stage(); })
      .def("energy_violation", &Hmc::energy_violation, "U"_a, "number"_a, release_gil());
}

}  // namespace trellis::bindings
