/// These tests compare measurements on a GPU with the CPU: sources, contractions and currents; and they count
/// the bytes that measurements copy.
#include "tests/support/gpu_comparison.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_propagators.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/conserved_three_point.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/measure/noise.hpp"
#include "trellis/measure/three_point.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"

namespace trellis::test {
namespace in_test_cuda_measurements {

const Momenta seven = momenta_up_to(1);

Numbers values_of(const CorrelatorTable& C) {
  const double* first = reinterpret_cast<const double*>(C.values.data());
  return Numbers(first, first + 2 * C.values.size());
}

class CudaMeasurements : public OnGpu {
 protected:
  const Coord extents{4, 4, 8, 8}, at{1, 2, 3, 5};
  LatticePtr lattice = make_lattice(extents, world()->size() == 4 ? Coord{1, 1, 2, 2} : Coord{0, 0, 0, 0});
  GaugeField U = to_product(lattice, random_gauge(extents, 71, 0.7));

  Propagator random_quark(uint64_t seed, Backend backend,
                          Precision precision = Precision::double_precision) const {
    return to_product(lattice, random_propagator(extents, seed), at).converted(precision).on(backend);
  }
  /// Calls f(backend) on the CPU and on the GPU.
  template <class F>
  void compare(const std::string& what, const F& f, double unit = 4e-14) const {
    const Numbers cpu = f(Backend::cpu);
    expect_alike(f(Backend::cuda), cpu, what, unit);
  }
};

TEST_F(CudaMeasurements, contractions_with_all_momenta) {
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const auto contract = [&](Backend backend) {
      const Propagator S = random_quark(1, backend, precision), T = random_quark(2, backend, precision);
      Numbers all = values_of(all_meson_correlators(S, T, seven));
      append(all, values_of(octet_correlators({&S, &T, &T}, {"proton", "lambda"},
                                              {parity_projector(1), polarised_projector(1)}, seven)));
      append(all, values_of(projected_correlators({&S, &S, &T}, baryon_states({"proton", "omega_minus"}),
                                                  momenta_up_to(3))));
      append(all, propagator_norm(S));
      return all;
    };
    compare(message("contractions in ", name_of(precision)), contract);
  }
}

/// A device adds its terms in another order, and terms of very different sizes decide which of their bits
/// count.
TEST_F(CudaMeasurements, sums_of_terms_of_all_sizes) {
  const auto contract = [&](Backend backend) {
    Propagator S = random_quark(3, Backend::cpu);
    SpinorField columns = S.columns();
    Random random(5);
    for (int site = 0; site < int(columns.geometry().local_volume()); ++site) {
      const SitePosition position = columns.layout().position(site_coord(site, columns.geometry().local()));
      double psi[24];
      columns.get_site(position, 0, psi);
      for (double& r : psi) r = std::ldexp(r, 20 * (site % 13) - 120);
      columns.set_site(position, 0, psi);
    }
    const Propagator scaled = Propagator(columns, at, {1.0, 1.0, 1.0, -1.0}).on(backend);
    Numbers all = values_of(all_meson_correlators(scaled, scaled, seven));
    append(all, propagator_norm(scaled));
    return all;
  };
  compare("sums of terms of all sizes", contract);
}

/// A time slice has more products than one launch of a device sums.
TEST_F(CudaMeasurements, products_of_large_slices) {
  const Coord large{32, 28, 20, 2};
  const Propagator S = to_product(make_lattice(large), random_propagator(large, 4), {5, 3, 2, 1});
  compare("products of large slices", [&](Backend backend) {
    const Propagator quark = S.on(backend);
    return values_of(all_meson_correlators(quark, quark, {{1, -2, 3}}));
  });
}

TEST_F(CudaMeasurements, sources_and_spins) {
  const auto sources = [&](Backend backend) {
    const GaugeField V = U.on(backend);
    Numbers all;
    for (const SourceKind kind : {SourceKind::spinor, SourceKind::colour_vector}) {
      const Source point = point_source(lattice, at, kind, backend);
      EXPECT_EQ(point.columns.spec().backend, backend);
      append(all, numbers_of(point.columns));
      append(all, numbers_of(smeared(point, V, {1.2, 3}).columns));
      append(all, numbers_of(smeared(point_source(lattice, at, kind), V, {1.2, 2}).columns));
      for (const SourceSites sites : {SourceSites::all, SourceSites::corners}) {
        const Source wall = wall_source(lattice, 5, {1, 0, -1}, kind, sites, backend);
        append(all, numbers_of(wall.columns));
        append(all, numbers_of(with_momentum(wall, {0, 1, 1}).columns));
      }
    }
    for (const NoiseKind kind : {NoiseKind::z2, NoiseKind::z4, NoiseKind::u1}) {
      const Noise noise{kind, 11, 2, 30, 4};
      append(all,
             numbers_of(noise_source(lattice, noise, all_times, SourceKind::spinor, SourceSites::all, backend)
                            .columns));
      append(all, numbers_of(noise_source(lattice, noise, 3, SourceKind::colour_vector, SourceSites::corners,
                                          backend)
                                 .columns));
      append(all, numbers_of(noise_vectors(lattice, noise, 2, backend)));
    }
    const Propagator S = random_quark(4, backend), T = random_quark(4, backend, Precision::single_precision);
    for (const Propagator* P : {&S, &T}) {
      append(all, numbers_of(P->multiplied(0.3 * gamma_by_name("sigma_xt")).columns()));
      const Source sequential = propagator_as_source(*P, gamma_by_name("gamma_y gamma5"));
      EXPECT_EQ(sequential.columns.spec().backend, backend);
      append(all, numbers_of(sequential.columns));
    }
    append(all, numbers_of(sink_smeared(S, V, {1.1, 2}).columns()));
    return all;
  };
  compare("sources and spins", sources);
}

TEST_F(CudaMeasurements, nucleon_sinks_and_three_points) {
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const auto sinks = [&](Backend backend) {
      const Propagator up = random_quark(6, backend, precision), down = random_quark(7, backend, precision);
      const GaugeField V = U.on(backend);
      const GaussianSmearing how{1.2, 2};
      const SinkSmearing smearing{&V, how};
      Numbers all;
      for (const std::array<double, 2> weights : {std::array{1.0, 0.0}, {0.0, 1.0}, {1.0, -1.0}}) {
        const NucleonSink sink{6, weights, polarised_projector(1), {1, 0, 0}};
        append(all, numbers_of(nucleon_sequential_source(up, down, sink).columns));
        append(all, numbers_of(nucleon_sequential_source(up, sink, &smearing).columns));
      }
      const std::vector<GammaMatrix> currents{gamma_by_name("gamma_t"), gamma_by_name("gamma_z gamma5")};
      append(all, values_of(nucleon_three_point(down, up, currents, seven)));
      return all;
    };
    compare(message("nucleon sinks in ", name_of(precision)), sinks);
  }
}

TEST_F(CudaMeasurements, conserved_currents) {
  const auto currents = [&](Backend backend) {
    const GaugeField V = U.on(backend);
    const Propagator S = random_quark(8, backend), T = random_quark(9, backend);
    WilsonParams hops;
    hops.boundary = {1.0, 1.0, 1.0, -1.0};
    const ConservedCurrent J(V, hops, current_weights(2, {0, 1, 0}, at, extents));
    Numbers all = numbers_of(conserved_current_source(S, J).columns);
    append(all, values_of(conserved_three_point(V, hops, S, T, {0, 3}, momenta_up_to(1))));
    return all;
  };
  compare("conserved currents", currents);
}

TEST_F(CudaMeasurements, domain_wall_propagators) {
  const auto propagators = [&](Backend backend) {
    DomainWallParams params;
    params.Ls = 4;
    params.M5 = 1.8;
    params.mass = 0.1;
    KernelChoice choice;
    choice.backend = backend;
    const auto matrix = std::make_shared<DomainWallMatrix>(U.on(backend), params, choice);
    DomainWallSolve how;
    how.solver = EvenOddSpec{CgSpec{1e-6}};
    how.columns_per_solve = 6;
    how.measures_axial_current = true;
    how.keeps_five = true;
    const DomainWallPropagator S = solve_domain_wall(matrix, how, point_source(lattice, at));
    EXPECT_EQ(S.quark.columns().spec().backend, backend);
    Numbers all = numbers_of(S.quark.columns());
    append(all, numbers_of(S.midpoint->columns()));
    append(all, residual_mass(S));
    append(all, S.axial_current);
    return all;
  };
  compare("domain-wall propagators", propagators, 1e-6);
}

TEST_F(CudaMeasurements, polyakov_loops) {
  const auto loops = [&](Backend backend) {
    const GaugeField V = U.on(backend);
    Numbers all;
    for (int mu = 0; mu < 4; ++mu) {
      const std::complex<double> loop = polyakov_loop(V, mu);
      all.insert(all.end(), {loop.real(), loop.imag()});
    }
    return all;
  };
  compare("Polyakov loops", loops);
}

/// From the operator on, what is copied is results: here 229 KB of mesons and 4 KB of nucleons.
TEST_F(CudaMeasurements, a_pion_and_a_nucleon_copy_less_than_one_megabyte) {
  WilsonParams params;
  params.mass = 0.3;
  params.csw_spatial = params.csw_temporal = 1.0;
  const GaugeField V = U.on(Backend::cuda);
  const auto matrix = std::make_shared<WilsonMatrix>(
      V, params, KernelChoice{Precision::double_precision, 12, Backend::cuda, 0});
  const auto measure = [&] {
    const Source source = point_source(lattice, at, SourceKind::spinor, Backend::cuda);
    const Propagator S = solve_propagator(matrix, EvenOddSpec{CgSpec{1e-6}}, source);
    EXPECT_LT(S.report().largest_residual(), 1e-5);
    const CorrelatorTable pion = meson_correlator(S, S, "gamma5", "gamma5", seven);
    const CorrelatorTable nucleon = octet_correlators({&S, &S, &S}, {"proton"}, {parity_projector(1)}, seven);
    EXPECT_GT(pion.at(0, 0, 0).real(), 0);
    EXPECT_NE(nucleon.at(0, 0, 1), 0.0);
    EXPECT_GT(propagator_norm(S)[0], 0);
  };
  measure();  // this makes what is made once
  const cuda::Activity before = cuda::activity();
  measure();
  const int64_t copied = cuda::activity_since(before).copied_bytes;
  if (world()->rank() == 0) std::cout << "a measurement copies " << copied << " bytes" << std::endl;
  EXPECT_LT(copied, 1'000'000);
}

}  // namespace in_test_cuda_measurements
}  // namespace trellis::test
