/// This program measures gauge kernels (plaquette, force, heat bath, over-relaxation, stout smearing) and the
/// linear algebra of spinor fields, on well mixed links.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bench/fields.hpp"
#include "bench/gauge_checks.hpp"
#include "bench/measurement.hpp"
#include "reference/loops.hpp"
#include "reference/smearing.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/single_precision.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/smearing.hpp"
#include "trellis/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/action.hpp"
#include "trellis/kernels/gauge/heatbath.hpp"
#include "trellis/kernels/gauge/link_fields.hpp"
#include "trellis/kernels/gauge/loops.hpp"
#include "trellis/kernels/gauge/rectangle_force.hpp"
#include "trellis/kernels/gauge/stout_chain.hpp"
#include "trellis/kernels/gauge/stout_smearing.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {
namespace {

/// One kernel has its cost per site, what runs, and its error (collective; for --check).
struct Case {
  const char* name;
  KernelCost cost;
  std::function<void()> apply;
  std::function<double()> error;
  double allowed = -1;  ///< it bounds the error, where that of the storage does not
};

Result run(const Case& c, const GaugeField& U, const Options& options, double working_set) {
  const double sites = double(U.geometry().volume());
  const double real_size = double(element_bytes(U.precision())) / sizeof(double);
  Result r;
  r.kernel = c.name;
  r.precision = U.precision();
  r.lattice = U.geometry().lattice();
  r.flops = c.cost.flops * sites;
  r.must_move_bytes = c.cost.bytes * real_size * sites;
  r.working_set = working_set * real_size * sites;
  measure(r, options, c.apply);
  r.allowed = c.allowed;
  if (options.check) r.error = c.error();
  return r;
}

void gauge_kernels(std::vector<Result>& results, const Coord& extents, const Options& options) {
  const LatticePtr lattice = make_lattice(extents);
  GaugeField U(lattice), chain(lattice), smeared(lattice);
  fill_random_su3(U, 1);
  fill_random_su3(chain, 2);
  AlgebraField F(U);
  const GaugeAction wilson = GaugeAction::wilson(6.0), symanzik = GaugeAction::symanzik(6.0);
  const double links = 72 * 8;
  Heatbath heatbath({6.0, 1, 0}), overrelaxation({6.0, 0, 1});
  const auto update_cost = [&](const KernelCost& sweep) {
    return KernelCost{4 * sweep.flops + reunitarise_cost.flops, 4 * sweep.bytes + reunitarise_cost.bytes};
  };
  ForceWorkspace workspace;
  double sink = 0;
  uint32_t trajectory = 0;
  const StoutWeights rho = isotropic_stout(0.1);
  StoutChain stout(rho, 1);
  stout.set(U);
  LinkDerivative derivative(U);  // it is zero, and stays so however often it is carried back
  const std::vector<std::pair<Case, double>> cases = {
      {{"plaquette", plaquette_cost, [&] { sink += plaquette(U); },
        [&] {
          const double expected = reference::plaquette(to_reference(U)).all;
          return std::fabs(plaquette(U) - expected);
        }},
       links},
      {{"plaquette_force", plaquette_force_cost, [&] { add_force(F, wilson, U); },
        [&] { return error_of_force(wilson, U, U); }},
       links + 256},
      {{"rectangle_force", slice_force_cost, [&] { add_force(F, symanzik, U, 1.0, workspace); },
        [&] { return error_of_force(symanzik, U, U); }},
       links + 256},
      {{"heatbath", update_cost(heatbath_cost), [&] { heatbath.update(chain, 1, 0, trajectory++); },
        [&] { return error_of_heatbath(heatbath, chain, trajectory); }},
       links},
      {{"overrelaxation", update_cost(overrelaxation_cost),
        [&] { overrelaxation.update(chain, 1, 0, trajectory++); },
        [&] { return error_of_overrelaxation(overrelaxation, chain, trajectory); }},
       links},
      {{"stout", stout_cost, [&] { stout_level(smeared, U, rho); },
        [&] {
          stout_level(smeared, U, rho);
          return relative_error(
              to_reference(smeared).links,
              reference::stout_smeared(to_reference(U), reference::isotropic_stout(0.1)).links);
        }},
       2 * links},
      // The numerical derivative sets the limit.
      {{"stout_chain", stout_chain_cost, [&] { stout.pull_back(derivative); },
        [&] { return error_of_stout_chain(U, 0.1); }, 1e-8},
       6 * links}};
  for (const auto& [c, working_set] : cases) results.push_back(run(c, U, options, working_set));
  if (!std::isfinite(sink)) throw std::runtime_error("the plaquette is not finite");
}

/// Adds what forces in single precision run, and the conversions that they need.
void single_precision_kernels(std::vector<Result>& results, const Coord& extents, const Options& options) {
  GaugeField U(make_lattice(extents));
  fill_random_su3(U, 1);
  const SinglePrecisionMap map(U);
  GaugeField rounded = map.make_single(U);
  map.convert(rounded, U);
  GaugeField smeared = rounded, widened = U;
  AlgebraField F(rounded);
  const GaugeAction wilson = GaugeAction::wilson(6.0), symanzik = GaugeAction::symanzik(6.0);
  const StoutWeights rho = isotropic_stout(0.1);
  StoutChain stout(rho, 1);
  stout.set(rounded);
  LinkDerivative derivative(rounded);
  ForceWorkspace workspace;
  const double links = 72 * 8;
  const auto smearing_error = [&] {
    stout_level(smeared, rounded, rho);
    return relative_error(to_reference(smeared).links,
                          reference::stout_smeared(to_reference(U), reference::isotropic_stout(0.1)).links);
  };
  const KernelCost rounding{0, 1.5 * 2 * links};  // it has a double field and one of half its size
  const std::vector<std::pair<Case, double>> cases = {
      {{"plaquette_force", plaquette_force_cost, [&] { add_force(F, wilson, rounded); },
        [&] { return error_of_force(wilson, rounded, U); }},
       links + 256},
      {{"rectangle_force", slice_force_cost, [&] { add_force(F, symanzik, rounded, 1.0, workspace); },
        [&] { return error_of_force(symanzik, rounded, U); }},
       links + 256},
      {{"stout", stout_cost, [&] { stout_level(smeared, rounded, rho); }, smearing_error}, 2 * links},
      {{"stout_chain", stout_chain_cost, [&] { stout.pull_back(derivative); },
        [&] { return error_of_single_stout_chain(rounded, U, 0.1); }},
       6 * links},
      {{"round_links", rounding, [&] { map.convert(smeared, U); },
        [&] { return error_of_rounding(smeared, U); }, 0},
       3 * links},
      {{"widen_links", rounding, [&] { map.convert(widened, rounded); },
        [&] { return error_of_rounding(widened, U); }, 0},
       3 * links}};
  for (const auto& [c, working_set] : cases) results.push_back(run(c, rounded, options, working_set));
}

/// Returns the local numbers of all slots; sites that the field lacks are zero.
std::vector<double> numbers(const SpinorField& field) {
  const auto part = size_t(field.geometry().local_volume() * field.reals());
  std::vector<double> all(part * size_t(field.slots()), 0.0);
  for (int slot = 0; slot < field.slots(); ++slot) field.to_canonical(&all[part * size_t(slot)], slot);
  return all;
}

/// Returns the same as relative_error, over all ranks.
double error_of_parts(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(sum_over_ranks(difference) / sum_over_ranks(size));
}

/// Returns a x + b y.
std::vector<double> combined(double a, const std::vector<double>& x, double b, const std::vector<double>& y) {
  std::vector<double> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = a * x[i] + b * y[i];
  return out;
}

/// Returns the sum over the sites of all ranks of conj(x) y, for each slot.
std::vector<double> dots(const std::vector<double>& x, const std::vector<double>& y, int slots) {
  std::vector<double> found;
  const size_t part = x.size() / size_t(slots);
  for (size_t begin = 0; begin < x.size(); begin += part) {
    double re = 0, im = 0;
    for (size_t i = begin; i < begin + part; i += 2) {
      re += x[i] * y[i] + x[i + 1] * y[i + 1];
      im += x[i] * y[i + 1] - x[i + 1] * y[i];
    }
    found.push_back(sum_over_ranks(re));
    found.push_back(sum_over_ranks(im));
  }
  return found;
}

std::vector<double> with_zeros(const Coefficients& real) {
  std::vector<double> found;
  for (const double x : real) found.insert(found.end(), {x, 0.0});
  return found;
}

/// Does each operation once, from known fields, against plain loops over the numbers that are stored.
double error_of_operation(const std::string& name, const SpinorField& like, const Coefficients& a,
                          const Coefficients& b) {
  SpinorField x = SpinorField::like(like), r = x, p = x;
  fill(x);
  fill(r, 2.3);
  fill(p, 3.1);
  const std::vector<double> x0 = numbers(x), r0 = numbers(r), p0 = numbers(p);
  const int slots = like.slots();
  if (name == "norm2") return relative_error(with_zeros(norm2_each(r)), dots(r0, r0, slots));
  if (name == "dot") {
    std::vector<double> found;
    for (const auto& z : dot_each(r, p)) found.insert(found.end(), {z.real(), z.imag()});
    return relative_error(found, dots(r0, p0, slots));
  }
  if (name == "update") {
    update_solution_and_direction(x, b, p, a, r);
    return larger(error_of_parts(numbers(x), combined(1, x0, b[0], p0)),
                  error_of_parts(numbers(p), combined(1, r0, a[0], p0)));
  }
  const std::vector<double> expected = combined(a[0], r0, b[0], p0);
  if (name == "combine") {
    combine(r, a, r, b, p);
    return error_of_parts(numbers(r), expected);
  }
  const Coefficients norms = combine_norm2(r, a, r, b, p);
  return larger(error_of_parts(numbers(r), expected),
                relative_error(with_zeros(norms), dots(expected, expected, slots)));
}

/// Measures fields of one parity, as the even-odd solvers use them; traffic counts fields read and written.
void linear_algebra(std::vector<Result>& results, const Coord& extents, Precision precision, int rhs,
                    const Options& options) {
  const LatticePtr lattice = make_lattice(extents);
  SpinorField x(lattice, {precision, Subset::even, rhs}), r = SpinorField::like(x), p = SpinorField::like(x);
  std::vector<double> canonical(size_t(lattice->geometry().local_volume()) * 24);
  for (size_t i = 0; i < canonical.size(); ++i) canonical[i] = std::sin(1.0 + double(i));
  for (int i = 0; i < rhs; ++i) {
    x.from_canonical(canonical.data(), i);
    r.from_canonical(canonical.data(), i);
    p.from_canonical(canonical.data(), i);
  }
  const Coefficients a(size_t(rhs), 0.999), b(size_t(rhs), 1e-3);
  const double scale = double(scale_bytes(precision));
  const double field = 24.0 * double(element_bytes(precision)) + scale;
  struct Operation {
    const char* name;
    double fields, flops;
    std::function<void()> apply;
  };
  for (const Operation& o :
       std::vector<Operation>{{"combine", 3, 3 * 24, [&] { combine(r, a, r, b, p); }},
                              {"combine_norm2", 3, 5 * 24, [&] { combine_norm2(r, a, r, b, p); }},
                              {"norm2", 1, 2 * 24, [&] { norm2_each(r); }},
                              {"dot", 2, 4 * 24, [&] { dot_each(r, p); }},
                              {"update", 5, 4 * 24, [&] { update_solution_and_direction(x, b, p, a, r); }}}) {
    const double sites = 0.5 * double(lattice->geometry().volume()) * rhs;
    Result result;
    result.kernel = o.name;
    result.precision = precision;
    result.link_reals = 0;
    result.lattice = extents;
    result.rhs = rhs;
    result.flops = o.flops * sites;
    result.must_move_bytes = o.fields * field * sites;
    result.working_set = 3 * field * sites;
    measure(result, options, o.apply);
    if (options.check) result.error = error_of_operation(o.name, x, a, b);
    results.push_back(result);
  }
}

Options defaults() {
  Options defaults;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.rhs = {1};
  return defaults;
}

int bench(const Options& options) {
  std::vector<Result> results;
  for (const Coord& extents : options.lattices) {
    for (const Precision precision : options.precisions) {
      if (precision == Precision::double_precision) gauge_kernels(results, extents, options);
      if (precision == Precision::single_precision) single_precision_kernels(results, extents, options);
    }
    for (const Precision precision : options.precisions)
      for (const int rhs : options.rhs) linear_algebra(results, extents, precision, rhs, options);
  }
  return report(results, options, {1e-13, 1e-5, 1e-3});
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark({"Gauge kernels, and the linear algebra of spinor fields.", defaults(), bench}, argc,
                       argv);
}
