// ranks: 1 2 4
/// These tests compare fields and operators on a GPU with the CPU, on one or several ranks (which share the
/// GPUs of the node in turn); test_cuda_*.cpp beside this file are parts of the same program. On a simulated
/// GPU (preset cuda-simulated) the bits are the same; on a real one equality to rounding is demanded, and
/// whether the bits agree is printed. The tests are skipped where no GPU can be used.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tests/support/column_sums.hpp"
#include "tests/support/five_fields.hpp"
#include "tests/support/gpu_comparison.hpp"
#include "tests/support/product_fields.hpp"
#include "tests/support/random_propagators.hpp"
#include "tests/support/staggered_fields.hpp"
#include "tests/support/trajectories.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/gpu_activity.hpp"
#include "trellis/field/halo/halo_exchange.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/many_fields.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/gauge/action.hpp"
#include "trellis/gauge/flow.hpp"
#include "trellis/gauge/force.hpp"
#include "trellis/gauge/hisq.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/gauge/stout_chain.hpp"
#include "trellis/gauge/topological_charge.hpp"
#include "trellis/gauge/wilson_loops.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/operator/hopping_term.hpp"
#include "trellis/solver/methods/cg.hpp"
#include "trellis/solver/methods/even_odd.hpp"
#include "trellis/solver/methods/mixed_precision.hpp"
#include "trellis/solver/multi_shift_cg.hpp"
#include "trellis/solver/normal_operator.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis {
namespace in_test_cuda {

using test::expect_alike;
using test::is_gpu_simulated;
using test::Numbers;

Numbers numbers(const GaugeField& U) {
  Numbers links(U.canonical_size());
  U.to_canonical(links.data());
  return links;
}
Numbers numbers(const AlgebraField& P) {
  Numbers p(size_t(P.lattice().geometry().local_volume()) * 32);
  P.to_canonical(p.data());
  return p;
}
Numbers numbers(const SpinorField& psi) { return test::numbers_of(psi); }
Numbers numbers(const CorrelatorTable& C) {
  const double* first = reinterpret_cast<const double*>(C.values.data());
  return Numbers(first, first + 2 * C.values.size());
}

class Cuda : public test::OnGpu {
 protected:
  const Coord extents{4, 4, 8, 8};
  /// Four ranks cut z and t: three-site hops need four local sites in split directions.
  LatticePtr lattice = make_lattice(extents, world()->size() == 4 ? Coord{1, 1, 2, 2} : Coord{0, 0, 0, 0});
  GaugeField U = test::to_product(lattice, test::random_gauge(extents, 71, 0.7));

  /// Compares f(U) on the CPU with f(U) on the GPU.
  template <class F>
  void compare(const std::string& what, const F& f, double unit = 4e-14) const {
    const Numbers cpu = f(U);
    expect_alike(f(U.on(Backend::cuda)), cpu, what, unit);
  }
};

TEST_F(Cuda, fields_of_any_kind_and_their_halos) {
  const Coefficients a{0.5, -2}, b{1.5, 0.25};
  for (const int reals : {5, 8, 30})
    for (const Precision precision : all_precisions) {
      const auto run = [&](Backend backend) {
        SiteField x(lattice, {precision, Subset::full, 2, reals, backend}), y = SiteField::like(x);
        test::Random random(uint64_t(lattice->geometry().rank()));
        for (SiteField* field : {&x, &y})
          for (int slot = 0; slot < 2; ++slot) {
            Numbers values(size_t(lattice->geometry().local_volume()) * size_t(reals));
            for (double& v : values) v = random.symmetric();
            field->from_canonical(values.data(), slot);
          }
        Numbers all = combine_norm2(y, a, x, b, y);
        const Numbers field = numbers(y);
        all.insert(all.end(), field.begin(), field.end());
        for (const std::complex<double>& d : dot_each(x, y)) all.insert(all.end(), {d.real(), d.imag()});
        HaloExchange halo(y, HaloShape{2, true});
        for (int turn = 0; turn < 2; ++turn) halo.exchange(y);
        Numbers ghosts(size_t(halo.sites().ghosts()) * size_t(reals));
        for (int slot = 0; slot < 2; ++slot) {
          halo.ghosts_to_canonical(ghosts.data(), slot);
          all.insert(all.end(), ghosts.begin(), ghosts.end());
        }
        return all;
      };
      expect_alike(run(Backend::cuda), run(Backend::gpu_emulated),
                   message("fields of ", reals, " reals in ", name_of(precision)), 1e-6);
    }
}

TEST_F(Cuda, links_go_there_and_back) {
  const GaugeField V = U.on(Backend::cuda);
  EXPECT_EQ(V.backend(), Backend::cuda);
  EXPECT_EQ(numbers(V), numbers(U));
  EXPECT_EQ(numbers(V.on(Backend::cpu)), numbers(U));
  EXPECT_EQ(V.link({1, 0, 1, 0}, 2), U.link({1, 0, 1, 0}, 2));
  GaugeField W = V;
  Link changed = U.link({1, 1, 1, 0}, 3);
  changed[4] += 1.0;
  W.set_link({1, 1, 1, 0}, 3, changed);
  EXPECT_EQ(W.link({1, 1, 1, 0}, 3), changed);
  EXPECT_EQ(numbers(V), numbers(U)) << "a copy is independent";
}

TEST_F(Cuda, loops) {
  compare("loops", [](const GaugeField& V) {
    const GaugeLoops l = measure_loops(V);
    return Numbers{l.plaquette,  l.plaquette_spatial,    l.plaquette_temporal,   l.rectangle,
                   l.link_trace, l.polyakov_loop.real(), l.polyakov_loop.imag(), l.unitarity_violation + 1};
  });
  compare("energy and charge", [](const GaugeField& V) {
    return Numbers{energy_density_clover(V), energy_density_plaquette(V),
                   topological_charge(V, ChargeDefinition::clover)};
  });
  compare("Wilson loops", [](const GaugeField& V) {
    Numbers all;
    for (const auto& row : wilson_loops(V, 2, 3, LoopPlanes::all))
      all.insert(all.end(), row.begin(), row.end());
    return all;
  });
}

TEST_F(Cuda, smearing_flow_and_chain_rule) {
  compare("stout", [](const GaugeField& V) { return numbers(stout_smear(V, 0.1, 2)); });
  compare("spatial stout",
          [](const GaugeField& V) { return numbers(stout_smear(V, spatial_stout(0.1), 3)); });
  compare(
      "APE",
      [](const GaugeField& V) {
        return numbers(ape_smear(V, {0.5, 2, false}));
      },
      1e-11);
  compare("flow", [](const GaugeField& V) {
    GradientFlow flow(V, -1.0 / 12);
    flow.step(0.02);
    flow.step_with_error(0.02);
    return numbers(flow.field());
  });
  compare("Wilson flow", [](const GaugeField& V) {
    GradientFlow flow(V);
    flow.step(0.02);
    return numbers(flow.field());
  });
  for (const StoutWeights& rho : {isotropic_stout(0.12), spatial_stout(0.12)})
    compare(rho[0][3] == 0 ? "spatial stout chain rule" : "stout chain rule", [&](const GaugeField& V) {
      StoutChain chain(rho, 2);
      chain.set(V);
      LinkDerivative G(V);
      for (int mu = 0; mu < Nd; ++mu) G.set_matrix({0, 1, 2, 1}, mu, V.link({0, 1, 2, 1}, mu));
      chain.pull_back(G);
      AlgebraField force(V);
      add_force(force, G, V, 0.5);
      return numbers(force);
    });
  compare(
      "HISQ",
      [](const GaugeField& V) {
        const HisqLinks links(V);
        Numbers all = numbers(links.fat(-0.1)), far = numbers(links.long_field());
        all.insert(all.end(), far.begin(), far.end());
        return all;
      },
      1e-11);
}

TEST_F(Cuda, pure_gauge_updates) {
  compare(
      "heat bath",
      [](const GaugeField& V) {
        GaugeField W = V;
        heatbath_update(W, {5.8, 2, 2}, 17, 0, 3);
        return numbers(W);
      },
      1e-9);
  for (const GaugeAction& S : {GaugeAction::wilson(5.7), GaugeAction::iwasaki(2.6)})
    compare(
        S.c1 == 0 ? "Wilson dynamics" : "Iwasaki dynamics",
        [&](const GaugeField& V) {
          GaugeField W = V;
          AlgebraField P(W);
          set_random_momenta(P, 5, 0, 1);
          for (int step = 0; step < 2; ++step) {
            add_force(P, S, W, -0.05);
            drift(W, P, 0.05);
          }
          Numbers all = numbers(W);
          all.push_back(kinetic_energy(P));
          all.push_back(force_size(P).largest);
          all.push_back(action(S, W));
          return all;
        },
        1e-12);
}

TEST_F(Cuda, wilson_operators_in_every_storage) {
  const auto psi = test::random_spinors(extents, 72);
  WilsonParams params;
  params.mass = 0.1;
  params.csw_spatial = params.csw_temporal = 1.1;
  params.boundary = {1.0, std::polar(1.0, 0.4), 1.0, -1.0};
  for (const double twisted_mass : {0.0, 0.2})
    for (const Precision precision : all_precisions)
      for (const int link_reals : {18, 12, 8}) {
        if (!has_link_storage(precision, link_reals)) continue;
        params.twisted_mass = twisted_mass;
        const auto apply = [&](Backend backend) {
          const KernelChoice choice{precision, link_reals, backend, 0};
          const auto matrix = std::make_shared<WilsonMatrix>(U, params, choice);
          const WilsonOperator M(matrix);
          const WilsonSchur S(matrix, SchurForm::symmetric);
          SpinorField in = M.make_field(2), out = M.make_field(2);
          for (int r = 0; r < 2; ++r) test::to_product(in, psi, r);
          M.apply(out, in);
          SpinorField even = S.make_field(2), schur = S.make_field(2);
          extract_parity(even, out);
          Numbers all = test::apply_with_norm2(S, schur, even, true);
          const Numbers field = numbers(schur);
          all.insert(all.end(), field.begin(), field.end());
          return all;
        };
        const double unit = precision == Precision::double_precision   ? 1e-13
                            : precision == Precision::single_precision ? 1e-5
                                                                       : 1e-3;
        expect_alike(apply(Backend::cuda), apply(Backend::cpu),
                     message("clover, ", name_of(precision), ", ", link_reals, " reals, mu ", twisted_mass),
                     unit);
      }
}

TEST_F(Cuda, a_thread_takes_several_right_hand_sides) {
  std::vector<KernelChoice> choices{{Precision::double_precision, 8, Backend::cuda, 0},
                                    {Precision::single_precision, 12, Backend::cuda, 0}};
  for (const Precision precision : all_precisions) choices.push_back({precision, 18, Backend::cuda, 0});
  for (const KernelChoice& choice : choices) {
    const HoppingTerm hop(U, WilsonParams{}, choice);
    for (const int slots : {1, 2, 3, 5, 7}) {
      SpinorField in = hop.make_field(Subset::full, slots);
      for (int slot = 0; slot < slots; ++slot)
        test::to_product(in, test::random_spinors(extents, 80 + uint64_t(slot)), slot);
      const auto applied = [&](int columns) {
        SpinorField out = hop.make_field(Subset::even, slots);
        HopTask task;
        task.columns_per_thread = columns;
        hop.apply(out, 0, in, task);
        return numbers(out);
      };
      const Numbers one = applied(1);
      for (const int columns : {2, 3, 4, 6})
        EXPECT_EQ(applied(columns), one) << columns << " columns a thread of " << slots << " slots";
      EXPECT_THROW(applied(-1), BadArgument);
      // These launches are a round of the tuner's trial: every shape has its turn.
      for (int launch = 0; launch < 4 * 6; ++launch)
        EXPECT_EQ(applied(0), one) << "launch " << launch << " of the tuner, " << slots << " slots";
    }
  }
}

TEST_F(Cuda, a_thread_takes_several_colour_vectors) {
  const HisqLinks hisq(U);
  for (const Precision precision : all_precisions)
    for (const bool is_improved : {false, true})
      for (const int slots : {2, 5, 7}) {
        const auto operator_of = [&](Backend backend) {
          const KernelChoice choice{precision, 18, backend, 0};
          const auto links = is_improved
                                 ? std::make_shared<StaggeredLinks>(hisq.fat(), hisq.long_field(),
                                                                    hisq_long_coefficient(0), true, choice)
                                 : std::make_shared<StaggeredLinks>(U, choice);
          return StaggeredOperator(std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.2));
        };
        const auto applied = [&](const StaggeredOperator& M) {
          SpinorField in = M.make_field(slots), out = M.make_field(slots);
          for (int r = 0; r < slots; ++r)
            test::to_product(in, test::random_vectors(extents, 90 + uint64_t(r)), r);
          M.apply(out, in);
          return numbers(out);
        };
        const StaggeredOperator on_gpu = operator_of(Backend::cuda);
        const Numbers first = applied(on_gpu);
        expect_alike(
            first, applied(operator_of(Backend::cpu)),
            message(is_improved ? "HISQ, " : "staggered, ", name_of(precision), ", ", slots, " columns"),
            1e-3);
        // Even and odd sites take two launches. Each shape of the tuner's trial has its turn.
        for (int launch = 2; launch < 4 * 6; launch += 2)
          EXPECT_EQ(applied(on_gpu), first) << "launch " << launch << " of the tuner, " << slots << " slots";
      }
}

TEST_F(Cuda, domain_wall_schur_complements) {
  for (const int Ls : {8, 9, 12}) {
    const auto five = test::random_five(extents, Ls, 74);
    for (const Precision precision : all_precisions)
      for (const bool is_dagger : {false, true}) {
        const auto applied = [&](Backend backend) {
          const DomainWallOperator D(U, test::moebius(0.05, Ls, 1.5, 0.5), {precision, 12, backend, 0});
          const DomainWallSchur S(D.matrix(), SchurForm::symmetric);
          SpinorField full = D.make_field(1), in = S.make_field(1), out = S.make_field(1);
          test::to_product(full, five, 0);
          extract_parity(in, full);
          is_dagger ? S.apply_dagger(out, in) : S.apply(out, in);
          return numbers(out);
        };
        expect_alike(applied(Backend::cuda), applied(Backend::cpu),
                     message("domain wall, Ls ", Ls, ", ", name_of(precision), is_dagger ? ", dagger" : ""),
                     1e-3);
      }
  }
}

TEST_F(Cuda, domain_wall_and_staggered_operators) {
  const auto five = test::random_five(extents, 4, 73);
  const auto domain_wall = [&](Backend backend) {
    const DomainWallOperator D(U, test::moebius(0.05, 4, 1.5, 0.5),
                               {Precision::double_precision, 18, backend, 0});
    SpinorField in = D.make_field(1), out = D.make_field(1);
    test::to_product(in, five, 0);
    D.apply(out, in);
    Numbers all = numbers(out);
    const DomainWallSchur S(D.matrix(), SchurForm::symmetric);
    SpinorField even = S.make_field(1), schur = S.make_field(1);
    extract_parity(even, in);
    S.apply(schur, even);
    const Numbers half = numbers(schur);
    all.insert(all.end(), half.begin(), half.end());
    return all;
  };
  expect_alike(domain_wall(Backend::cuda), domain_wall(Backend::cpu), "domain wall", 1e-13);
  const HisqLinks hisq(U);
  const auto vectors = test::random_vectors(extents, 74);
  for (const bool is_improved : {false, true}) {
    const auto staggered = [&](Backend backend) {
      KernelChoice choice;
      choice.backend = backend;
      const auto links = is_improved
                             ? std::make_shared<StaggeredLinks>(hisq.fat(), hisq.long_field(),
                                                                hisq_long_coefficient(0), true, choice)
                             : std::make_shared<StaggeredLinks>(U, choice);
      const StaggeredOperator M(std::make_shared<StaggeredMatrix>(links, StaggeredPhases{}, 0.2));
      SpinorField in = M.make_field(2), out = M.make_field(2);
      for (int r = 0; r < 2; ++r) test::to_product(in, vectors, r);
      M.apply(out, in);
      return numbers(out);
    };
    expect_alike(staggered(Backend::cuda), staggered(Backend::cpu), is_improved ? "HISQ" : "staggered",
                 1e-13);
  }
}

/// The whole chain from links to correlators runs with the links on the device.
TEST_F(Cuda, the_whole_chain) {
  const Source source = smeared(point_source(lattice, {1, 2, 3, 1}), U, {1.2, 3});
  const auto chain = [&](const GaugeField& V) {
    WilsonParams params;
    params.mass = 0.3;
    params.csw_spatial = params.csw_temporal = 1.0;
    const auto matrix = std::make_shared<WilsonMatrix>(
        V, params, KernelChoice{Precision::double_precision, 12, V.backend(), 0});
    const SolverSpec solver = EvenOddSpec{MixedPrecisionSpec{CgSpec{1e-9}, Precision::single_precision}};
    const Propagator S = solve_propagator(matrix, solver, source);
    EXPECT_LT(S.report().largest_residual(), 1e-8);
    EXPECT_EQ(S.columns().spec().backend, V.backend());
    const Propagator sink = sink_smeared(S, V, {1.2, 2});
    Numbers all = numbers(meson_correlator(S, S, "gamma5", "gamma5", {{0, 0, 0}, {1, 0, 0}}));
    const Numbers more[] = {numbers(all_meson_correlators(sink, sink, {{0, 1, 0}})),
                            numbers(octet_correlators({&S, &S, &S}, {"proton"}, {parity_projector(1)})),
                            propagator_norm(S)};
    for (const Numbers& m : more) all.insert(all.end(), m.begin(), m.end());
    return all;
  };
  compare("chain", chain, 1e-7);
}

TEST_F(Cuda, products_and_updates_of_many_fields) {
  for (const Precision precision : all_precisions)
    for (const int own : {1, 3}) {
      const auto orthogonalise = [&](Backend backend) {
        FieldSpec spec;
        spec.precision = precision;
        spec.backend = backend;
        spec.rhs = own;
        std::vector<SpinorField> fields(18, SpinorField(lattice, spec));
        for (size_t j = 0; j < fields.size(); ++j)
          for (int r = 0; r < own; ++r)
            test::to_product(fields[j], test::random_spinors(extents, 80 + 3 * j + size_t(r)), r);
        spec.rhs = 3;
        SpinorField w(lattice, spec);
        for (int r = 0; r < 3; ++r) test::to_product(w, test::random_spinors(extents, 75 + size_t(r)), r);
        const FieldList all = first_of(fields, fields.size());
        FieldCoefficients c = dots_each(all, w);
        Numbers found;
        for (ComplexCoefficients& row : c)
          for (std::complex<double>& z : row) {
            found.insert(found.end(), {z.real(), z.imag()});
            z /= double(lattice->volume());
          }
        for (const double norm : subtract_each_norm2(w, c, all)) found.push_back(norm);
        const Numbers field = numbers(w);
        found.insert(found.end(), field.begin(), field.end());
        return found;
      };
      expect_alike(orthogonalise(Backend::cuda), orthogonalise(Backend::cpu),
                   message("many fields, ", name_of(precision), ", ", own, " columns each"),
                   precision == Precision::double_precision ? 1e-13 : 1e-3);
    }
}

TEST_F(Cuda, multi_shift_solver) {
  const auto solve = [&](const GaugeField& V) {
    WilsonParams params;
    params.mass = 0.3;
    const auto M = std::make_shared<WilsonSchur>(
        std::make_shared<WilsonMatrix>(V, params,
                                       KernelChoice{Precision::double_precision, 18, V.backend(), 0}),
        SchurForm::symmetric);
    const LinearOperatorPtr A = std::make_shared<NormalOperator>(M);
    SpinorField b = A->make_field(1);
    Numbers source(size_t(lattice->geometry().local_volume()) * 24);
    for (size_t i = 0; i < source.size(); ++i) source[i] = std::sin(double(i));
    b.from_canonical(source.data(), 0);
    std::vector<SpinorField> x(3, A->make_field(1));
    EXPECT_TRUE(multi_shift_cg(A, {0.0, 0.1, 0.5}, x, b, {}).converged);
    Numbers all;
    for (const SpinorField& field : x) {
      const Numbers one = numbers(field);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  compare("shifts", solve, 1e-8);
}

/// Returns what a rank sends around a ring in a turn.
std::vector<int> ring_message(int rank, int turn) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 100003 * rank + 7 * turn);
  return values;
}

/// Sends messages around a ring of ranks, several times.
void check_ring(const char* what) {
  Communicator& comm = *world();
  const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
  const size_t bytes = 1000 * sizeof(int);
  const TransportPtr transport =
      make_transport(comm, {{next, 1, nullptr, bytes}}, {{last, 1, nullptr, bytes}}, {Backend::cuda});
  for (int turn = 0; turn < 5; ++turn) {
    transport->start(
        [&] { cuda::copy_from_host(transport->outgoing(0), ring_message(comm.rank(), turn).data(), bytes); });
    transport->wait([] {});
    cuda::synchronize();
    std::vector<int> received(1000);
    cuda::copy_to_host(received.data(), transport->incoming(0), bytes);
    EXPECT_EQ(received, ring_message(last, turn)) << what << ", turn " << turn;
  }
}

TEST_F(Cuda, work_on_the_host_counts_its_transfers) {
  FieldSpec spec;
  spec.backend = Backend::cuda;
  SpinorField field(lattice, spec);
  const double reals[24] = {2.5};
  const auto transfers = [](const auto& work) {
    const HostTransfers before = host_transfers();
    work();
    const HostTransfers after = host_transfers();
    EXPECT_GE(after.bytes - before.bytes, (after.count - before.count) * 24 * 8);
    return after.count - before.count;
  };
  EXPECT_EQ(
      transfers([&] { on_host(field, [&](SpinorField& image) {
                        image.set_site({0, 1, 0}, 0, reals);
                      }); }), 2)
      << "there and back";
  EXPECT_EQ(transfers([&] {
              on_host(field, [&](const SpinorField& image) { EXPECT_EQ(image.get({0, 1, 0}, 0, 0), 2.5); });
            }),
            1);
}

/// The GPU layout holds links in every storage, with scales where a row is longer than 1; 14 reals take any
/// U(3) link.
TEST_F(Cuda, links_of_hops_are_stored_as_on_the_host) {
  GaugeField longer = U;
  for (int mu = 0; mu < Nd; ++mu) {
    Link link = U.link({1, 2, 3, 1}, mu);
    for (std::complex<double>& z : link) z *= 1.5;
    longer.set_link({1, 2, 3, 1}, mu, link);
  }
  const auto bytes_of = [](const HopLinks& links) {
    std::vector<char> bytes(links.bytes());
    const char* data = static_cast<const char*>(links.raw(0).data);
    if (links.backend() == Backend::cuda)
      cuda::copy_to_host(bytes.data(), data, bytes.size());
    else
      std::copy_n(data, bytes.size(), bytes.begin());
    return bytes;
  };
  for (const Precision precision : all_precisions)
    for (const int reals : {18, 14, 12, 8}) {
      if (!has_link_storage(precision, reals)) continue;
      for (const GaugeField* links : {&U, &longer}) {
        if (links == &longer && reals != 18) continue;
        const HopLinks host(*links, precision, reals, Backend::gpu_emulated);
        const GaugeField there = links->on(Backend::cuda);
        HopLinks gpu(there, precision, reals, Backend::cuda);
        EXPECT_TRUE(bytes_of(gpu) == bytes_of(host)) << name_of(precision) << ", " << reals << " reals";
        if (links == &longer) continue;
        gpu.refill(there);
        EXPECT_TRUE(bytes_of(gpu) == bytes_of(host))
            << name_of(precision) << ", " << reals << " reals, again";
      }
    }
  EXPECT_THROW(HopLinks(longer.on(Backend::cuda), Precision::double_precision, 12, Backend::cuda),
               BadArgument);
}

/// After its start a trajectory leaves its fields on the GPU: a colour vector on one parity has 24 kB here,
/// the links 590 kB.
class CudaTrajectory : public Cuda {
 protected:
  void compare_trajectories(const std::string& what, const test::Quarks& quarks, double unit) const {
    compare(
        what,
        [&](const GaugeField& V) {
          GaugeField W = V;
          Hmc hmc = test::short_trajectories(quarks);
          hmc.trajectory(W, 1, false);
          const cuda::Activity before = cuda::activity();
          const TrajectoryRecord record = hmc.trajectory(W, 2, false);
          const int64_t copied = cuda::activity_since(before).copied_bytes;
          if (V.backend() == Backend::cuda && world()->rank() == 0)
            std::cout << what << ": " << copied << " bytes copied" << std::endl;
          EXPECT_LT(copied, 20000) << what;
          Numbers all = numbers(W), seen = test::numbers_of(W, record);
          all.insert(all.end(), seen.begin(), seen.end());
          return all;
        },
        unit);
  }
};

TEST_F(CudaTrajectory, staggered_quarks_on_stout_links) {
  compare_trajectories("trajectory, stout 2+1", test::stout_staggered_2_plus_1, 1e-7);
}

TEST_F(CudaTrajectory, hisq_quarks) {
  compare_trajectories("trajectory, HISQ 2+1", test::hisq_2_plus_1, 1e-7);
}

TEST_F(CudaTrajectory, clover_quarks) {
  for (const double mu : {0.0, 0.2})
    compare_trajectories(
        message("trajectory, clover, mu ", mu), [mu] { return test::two_clover_flavours(mu); }, 1e-7);
}

/// Messages are page-locked memory that travels by requests or in memory that ranks share, or an MPI library
/// takes the GPU's memory.
TEST_F(Cuda, messages_of_halos_by_each_way) {
  std::vector<ExchangePolicy> policies{ExchangePolicy::automatic, ExchangePolicy::persistent,
                                       ExchangePolicy::staged};
  if (is_gpu_simulated()) {  // other machines need not let ranks share memory
    policies.push_back(ExchangePolicy::shared);
    policies.push_back(ExchangePolicy::copied);
  }
  for (const ExchangePolicy policy : policies) {
    const test::WithExchange with(policy);
    check_ring(name_of(policy));
  }
  const test::WithExchange with("staged");
  EXPECT_EQ(choose_transport(Backend::cuda), TransportWay::staged);
}

/// Kernels or copies write into the memory of the other rank's GPU, on one GPU, too, or of its host.
TEST_F(Cuda, messages_between_gpus) {
  for (const char* word : {"peer", "peer_copied", "mapped", "fused"}) {
    const test::WithExchange with(word);
    const TransportPtr transport = make_transport(*world(), {}, {}, {Backend::cuda});
    EXPECT_STREQ(name_of(transport->way()), world()->size() > 1 ? word : "staged")
        << "one process has no peer";
    check_ring(word);
  }
}

/// An error may come between the start of an exchange and its end, on all ranks: the next ones find their
/// messages.
TEST_F(Cuda, exchanges_after_one_that_nobody_waits_for) {
  Communicator& comm = *world();
  const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
  const size_t bytes = 1000 * sizeof(int);
  for (const char* word : {"staged", "peer", "peer_copied", "mapped", "fused"}) {
    const test::WithExchange with(word);
    const TransportPtr transport =
        make_transport(comm, {{next, 1, nullptr, bytes}}, {{last, 1, nullptr, bytes}}, {Backend::cuda});
    for (int turn = 0; turn < 8; ++turn) {
      transport->start([&] {
        cuda::copy_from_host(transport->outgoing(0), ring_message(comm.rank(), turn).data(), bytes);
      });
      if (turn % 3 != 2) continue;
      transport->wait([] {});
      cuda::synchronize();
      std::vector<int> received(1000);
      cuda::copy_to_host(received.data(), transport->incoming(0), bytes);
      EXPECT_EQ(received, ring_message(last, turn)) << word << ", turn " << turn;
    }
  }
}

}  // namespace in_test_cuda
}  // namespace trellis
