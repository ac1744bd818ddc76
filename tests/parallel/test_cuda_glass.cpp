/// These tests compare Heisenberg spin glasses on a GPU with the CPU: over-relaxation, heat bath, exchanges
/// of temperatures and all sums. They are a part of the program test_cuda.
#include "tests/support/gpu_comparison.hpp"
#include "tests/support/spin_glasses.hpp"
#include "trellis/glass/tempering.hpp"

namespace trellis {
namespace in_test_cuda_glass {

using test::append;
using test::expect_alike;
using test::Numbers;

constexpr uint64_t seed = 12, stream = 3;
/// One lattice has an extent of 1, and one has other extents than powers of 2.
constexpr Coord lattices[] = {{8, 4, 8, 4}, {6, 10, 2, 4}, {1, 8, 4, 4}};

class CudaGlass : public test::OnGpu {
 protected:
  /// Returns two replicas at two temperatures.
  static SpinGlass random_glass(const Coord& extents, CouplingKind kind, Precision precision,
                                Backend backend) {
    SpinGlass glass(make_lattice(extents, choose_spin_grid(extents, world()->size())),
                    {.precision = precision, .backend = backend, .slots = 4});
    glass.draw_all_couplings(kind, seed, stream);
    glass.randomise(seed, stream);
    return glass;
  }
  static Numbers spins_of_all_slots(const SpinGlass& glass) {
    Numbers all;
    for (int slot = 0; slot < glass.slots(); ++slot) append(all, test::spins_of(glass, slot));
    return all;
  }
  /// Calls f(glass) for all lattices, couplings and storages.
  template <class F>
  static void compare(const std::string& what, const F& f, double unit_of_float = 1e-4) {
    for (const Coord& extents : lattices)
      for (const CouplingKind kind : {CouplingKind::gaussian, CouplingKind::plus_minus})
        for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
          SpinGlass gpu = random_glass(extents, kind, precision, Backend::cuda),
                    cpu = random_glass(extents, kind, precision, Backend::cpu);
          expect_alike(f(gpu), f(cpu),
                       message(what, ", ", name_of(kind), ", ", name_of(precision), ", ", to_string(extents)),
                       precision == Precision::single_precision ? unit_of_float : 1e-11);
        }
  }
};

TEST_F(CudaGlass, over_relaxation) {
  compare("over-relaxation", [](SpinGlass& glass) {
    glass.over_relax(3);
    glass.over_relax(2, 2);
    return spins_of_all_slots(glass);
  });
}

TEST_F(CudaGlass, heat_bath_and_exchanges_of_temperatures) {
  compare(
      "heat bath and exchanges",
      [](SpinGlass& glass) {
        Numbers all;
        for (uint32_t step = 0; step < 2; ++step) {
          glass.heat_bath({0.4, 0.5, 0.4, 0.5}, seed, stream, step);
          glass.over_relax(1);
          append(all, exchange_temperatures(glass, {0.4, 0.5}, seed, stream, step).energies);
        }
        append(all, spins_of_all_slots(glass));
        return all;
      },
      1e-3);
}

TEST_F(CudaGlass, energies_and_other_sums) {
  compare("energies and other sums", [](SpinGlass& glass) {
    Numbers all = energies(glass);
    for (const SpinSums kind :
         {SpinSums::bonds, SpinSums::overlap, SpinSums::chirality, SpinSums::magnetisation})
      append(all, spin_sums(glass, kind, {{0, 2}, {1, 3}}));
    append(all, glass.couplings().to_canonical());
    return all;
  });
}

}  // namespace in_test_cuda_glass
}  // namespace trellis
