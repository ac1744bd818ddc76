/// Python gets domain-wall operators and propagators here.
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "trellis/measure/conserved_three_point.hpp"

namespace trellis::bindings {

namespace {
/// These are the 5-D fields of a propagator and what they were solved from, for guesses and conserved
/// currents.
struct KeptFields {
  DomainWallPropagator S;
  Source source;
  int columns_per_solve;
};

struct Solved {
  Propagator quark;
  std::optional<Propagator> midpoint;
  std::vector<double> axial_current;
  std::shared_ptr<KeptFields> fields;
};

Solved solve(const DomainWallOperator& D, const SolverSpec& solver, const Source& source,
             int columns_per_solve, bool axial_current, bool keeps_fields, const KeptFields* guess) {
  const DomainWallSolve how{solver, columns_per_solve, keeps_fields, axial_current,
                            guess ? &guess->S.five : nullptr};
  DomainWallPropagator S = solve_domain_wall(D.matrix(), how, source);
  if (!keeps_fields) return {std::move(S.quark), std::move(S.midpoint), std::move(S.axial_current), nullptr};
  Solved result{S.quark, S.midpoint, S.axial_current, nullptr};
  result.fields = std::make_shared<KeptFields>(KeptFields{std::move(S), source, columns_per_solve});
  return result;
}

CurrentKind current_kind_by_name(const std::string& kind) {
  if (kind == "vector") return CurrentKind::vector;
  if (kind == "axial") return CurrentKind::axial;
  throw BadArgument(message("unknown conserved current '", kind, "'; legal: vector, axial"));
}

/// Inserts the current in direction mu with a momentum into the propagator that was kept.
Solved insert_current(const DomainWallOperator& D, const SolverSpec& solver, const KeptFields& kept,
                      const std::string& kind, int mu, const Momentum& n, std::optional<int> time) {
  const LinkWeights weights = current_weights(mu, n, kept.source.at, D.matrix()->lattice().extents(), time);
  DomainWallPropagator F = conserved_current_propagator(D.matrix(), {solver, kept.columns_per_solve}, kept.S,
                                                        kept.source, weights, current_kind_by_name(kind));
  return {std::move(F.quark), std::move(F.midpoint), {}, nullptr};
}

/// Returns [current][momentum transfer][tau]; currents have a kind and a direction.
Array<std::complex<double>> three_point(const DomainWallOperator& D, const KeptFields& sequential,
                                        const KeptFields& kept,
                                        const std::vector<std::pair<std::string, int>>& currents,
                                        const Momenta& transfers) {
  std::vector<ConservedInsertion> insertions;
  for (const auto& [kind, mu] : currents) insertions.push_back({current_kind_by_name(kind), mu});
  const CorrelatorTable table = [&] {
    const nb::gil_scoped_release release;
    return conserved_three_point(D.matrix(), {sequential.S, sequential.source}, {kept.S, kept.source},
                                 insertions, transfers);
  }();
  return to_array(table.values, {size_t(table.rows), size_t(table.momenta), size_t(table.times)});
}
}  // namespace

void bind_domain_wall(nb::module_& m) {
  nb::class_<DomainWallParams>(m, "DomainWallParams")
      .def(nb::init<>())
      .def_rw("mass", &DomainWallParams::mass)
      .def_rw("M5", &DomainWallParams::M5)
      .def_rw("nu", &DomainWallParams::nu)
      .def_rw("xi0", &DomainWallParams::xi0)
      .def_rw("Ls", &DomainWallParams::Ls)
      .def_rw("b5", &DomainWallParams::b5)
      .def_rw("c5", &DomainWallParams::c5)
      .def_rw("boundary", &DomainWallParams::boundary);
  nb::class_<DomainWallOperator, LinearOperator>(m, "DomainWallOperator")
      .def(
          "__init__",
          [](DomainWallOperator* self, const GaugeField& U, const DomainWallParams& params, int link_reals) {
            new (self) DomainWallOperator(U, params, {Precision::double_precision, link_reals, U.backend()});
          },
          "links"_a, "params"_a, "link_reals"_a = 18, release_gil());
  nb::class_<KeptFields>(m, "DomainWallFields");
  nb::class_<Solved>(m, "DomainWallSolved")
      .def_ro("quark", &Solved::quark)
      .def_ro("midpoint", &Solved::midpoint)
      .def_ro("axial_current", &Solved::axial_current)
      .def_ro("fields", &Solved::fields);
  m.def("solve_domain_wall", solve, "operator"_a, "solver"_a, "source"_a, "columns_per_solve"_a,
        "axial_current"_a = false, "keeps_fields"_a = false, "guess"_a.none() = nb::none(), release_gil());
  m.def("conserved_current_domain_wall", insert_current, "operator"_a, "solver"_a, "fields"_a, "kind"_a,
        "mu"_a, "momentum"_a, "time"_a.none() = nb::none(), release_gil());
  m.def("conserved_three_point_domain_wall", three_point, "operator"_a, "sequential"_a, "fields"_a,
        "currents"_a, "momentum_transfers"_a);
  m.def("propagator_norm", &propagator_norm, "S"_a, release_gil());
  m.def(
      "domain_wall_solve_bytes",
      [](const Lattice& l, int Ls, int columns, int work_fields) {
        return domain_wall_solve_bytes(l.geometry(), Ls, columns, work_fields);
      },
      "lattice"_a, "Ls"_a, "columns_per_solve"_a, "work_fields"_a);
}

}  // namespace trellis::bindings
