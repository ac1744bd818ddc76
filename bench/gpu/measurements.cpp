/// This section times measurements of hadrons: contractions with seven momenta, sources and what is done with
/// propagators.
#include "bench/fields.hpp"
#include "bench/gpu/cases.hpp"
#include "trellis/base/error.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/gauge/loops.hpp"
#include "trellis/kernels/contract/baryon_products.hpp"
#include "trellis/kernels/contract/meson_products.hpp"
#include "trellis/measure/baryons.hpp"
#include "trellis/measure/mesons.hpp"
#include "trellis/measure/three_point.hpp"

namespace trellis::gpu_check {

namespace {
/// Makes a propagator on a GPU. Its columns are alike where the lattice is not one that is compared.
Propagator propagator(const LatticePtr& lattice, bool is_compared) {
  FieldSpec spec;
  spec.rhs = 12;
  spec.backend = Backend::cuda;
  SpinorField columns(lattice, spec);
  if (is_compared) {
    fill(columns);
  } else {
    spec.rhs = 1;
    SpinorField one(lattice, spec);
    fill(one);
    for (int column = 0; column < 12; ++column) copy_columns(columns, column, one, 0, 1);
  }
  return Propagator(std::move(columns), {0, 0, 0, 0}, {1.0, 1.0, 1.0, -1.0});
}

std::vector<double> numbers(const CorrelatorTable& table) {
  const double* first = reinterpret_cast<const double*>(table.values.data());
  return {first, first + 2 * table.values.size()};
}

/// It times measurements of one propagator, and compares their numbers on both devices.
class Measurements {
 public:
  Measurements(Section& section, const LatticePtr& lattice)
      : section_{section},
        lattice_{lattice},
        is_compared_{lattice->geometry().volume() <= 16 * 16 * 16 * 32},
        S_{propagator(lattice, is_compared_)} {
    if (is_compared_) host_.emplace(S_.on(Backend::cpu));
  }

  /// Times a part of a measurement, on the GPU alone.
  void run_part(const std::string& name, double flops, double bytes,
                const std::function<void(const Propagator&)>& part) {
    section_.run(name, [&] {
      const double sites = double(lattice_->geometry().volume());
      const Times times = time_of([&] { part(S_); });
      section_.print(row_of(section_, name, lattice_->extents(), Precision::double_precision, 0, 12, times,
                            flops * sites, bytes * sites, ""));
    });
  }

  /// Runs one measurement; flops and bytes are those of a site.
  void run(const std::string& name, double flops, double bytes,
           const std::function<std::vector<double>(const Propagator&)>& measure) {
    section_.run(name, [&] {
      const double sites = double(lattice_->geometry().volume());
      const std::string bits = host_ ? compared(section_, name, measure(S_), measure(*host_), 1e-12) : "";
      const Times times = time_of([&] { (void)measure(S_); });
      section_.print(row_of(section_, name, lattice_->extents(), Precision::double_precision, 0, 12, times,
                            flops * sites, bytes * sites, bits));
    });
  }

 private:
  Section& section_;
  LatticePtr lattice_;
  bool is_compared_;
  Propagator S_;
  std::optional<Propagator> host_;
};

/// Returns what writes all products of mesons, or those of a proton whose quark pairing[2] of the source goes
/// to the open spin of the sink.
ProductWriter meson_writer(const Propagator& S) {
  return [&S](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    MesonProductsCall call;
    call.quark = call.antiquark = S.columns().raw(parity);
    call.out = out;
    call.first_block = blocks.begin;
    dispatch_unquantised(Backend::cuda, Precision::double_precision, 1, [&]<class Layout, class Storage>() {
      launch_meson_products<Layout, Storage>(call, blocks);
    });
  };
}
ProductWriter proton_writer(const Propagator& S, const std::array<int, 3>& pairing) {
  return [&S, pairing](int parity, const SiteRange& blocks, const ProductBuffer& out) {
    OctetProductsCall call;
    for (size_t i = 0; i < 3; ++i) {
      call.quarks[i] = S.columns().raw(parity);
      call.pairing[i] = pairing[i];
    }
    call.sink = call.source = to_sparse(gamma_mu(1) * gamma_mu(3) * gamma_product(15));
    call.out = out;
    call.first_block = blocks.begin;
    dispatch_unquantised(Backend::cuda, Precision::double_precision, 1, [&]<class Layout, class Storage>() {
      launch_octet_products<Layout, Storage>(call, blocks);
    });
  };
}

/// Writes products of all sites, some of them at a time, and does nothing with them.
void write_products(const Propagator& S, int components, const ProductWriter& write) {
  constexpr int step = 4096;
  static Memory products;  // it is kept: to make it takes time
  const size_t bytes = size_t(step) * size_t(components) * 2 * sizeof(double);
  if (products.bytes() != bytes) products = Memory(bytes, Backend::cuda);
  const int sites = S.columns().layout().blocks();
  for (int parity = 0; parity < 2; ++parity)
    for (int begin = 0; begin < sites; begin += step) {
      SiteRange range(std::min(begin + step, sites));
      range.begin = begin;
      write(parity, range, {static_cast<double*>(products.data()), 1, 0, components});
    }
}

/// Times the launches of mesons and of a proton: products alone, products with sums of one and of seven
/// momenta, without what the host makes of the sums.
void parts_of_contractions(Measurements& measurements, const Momenta& seven) {
  constexpr double bytes = 288 * 8;
  const auto sum = [](const Propagator& S, int components, const Momenta& momenta,
                      const ProductWriter& write) {
    const MomentumPhases phases(S.geometry().lattice(), momenta, {0, 0, 0, 0});
    (void)slice_sums_of_rank(S.columns(), components, phases, write);
  };
  measurements.run_part("256 mesons: products", 256 * 70, 2 * bytes + 256 * 16,
                        [&](const Propagator& S) { write_products(S, meson_components, meson_writer(S)); });
  for (const Momenta& momenta : {zero_momentum, seven})
    measurements.run_part(message("256 mesons: products and sums, ", momenta.size(), " momenta"),
                          256 * (70 + 6 * double(momenta.size())), 2 * bytes,
                          [&](const Propagator& S) { sum(S, meson_components, momenta, meson_writer(S)); });
  measurements.run_part("proton: direct products", 0, bytes, [&](const Propagator& S) {
    write_products(S, octet_components, proton_writer(S, {0, 1, 2}));
  });
  measurements.run_part("proton: crossed products", 0, bytes, [&](const Propagator& S) {
    write_products(S, octet_components, proton_writer(S, {2, 1, 0}));
  });
  measurements.run_part("proton: direct products and sums, 7 momenta", 0, bytes, [&](const Propagator& S) {
    sum(S, octet_components, seven, proton_writer(S, {0, 1, 2}));
  });
}

void contractions(Section& section, const LatticePtr& lattice) {
  constexpr double bytes = 288 * 8;  // a propagator's site has them
  const Momenta seven = momenta_up_to(1);
  Measurements measurements(section, lattice);
  measurements.run("256 mesons, 7 momenta", 256 * (70 + 7 * 6), 2 * bytes,
                   [&](const Propagator& S) { return numbers(all_meson_correlators(S, S, seven)); });
  measurements.run("proton, 7 momenta", 0, 0, [&](const Propagator& S) {
    return numbers(octet_correlators({&S, &S, &S}, {"proton"}, {parity_projector(1)}, seven));
  });
  measurements.run("projected proton, 7 momenta", 0, 0, [&](const Propagator& S) {
    return numbers(projected_correlators({&S, &S, &S}, baryon_states({"proton"}), seven));
  });
  parts_of_contractions(measurements, seven);
  measurements.run("propagator norm", 576, bytes, propagator_norm);
  measurements.run("sequential source of a nucleon and norm", 0, 0, [&](const Propagator& S) {
    Source source = nucleon_sequential_source(S, {4, {1.0, -1.0}, parity_projector(1)});
    return propagator_norm(Propagator(std::move(source.columns), source.at, {1.0, 1.0, 1.0, -1.0}));
  });
  measurements.run_part("sequential source of a nucleon", 0, bytes, [](const Propagator& S) {
    (void)nucleon_sequential_source(S, {4, {1.0, -1.0}, parity_projector(1)});
  });
  measurements.run("spin multiplication and norm", 0, 3 * bytes,
                   [&](const Propagator& S) { return propagator_norm(S.multiplied(gamma_product(5))); });
}

void point_sources(Section& section, const LatticePtr& lattice) {
  section.run("point source", [&] {
    const double bytes = 12 * 24 * 8 * double(lattice->geometry().volume());
    const Times times = time_of([&] {
      (void)point_source(lattice, {0, 0, 0, 0}, SourceKind::spinor, Backend::cuda);
    });
    section.print(row_of(section, "point source", lattice->extents(), Precision::double_precision, 0, 12,
                         times, 0, bytes, ""));
  });
}

void polyakov(Section& section, const LatticePtr& lattice) {
  section.run("Polyakov loop", [&] {
    GaugeField host(lattice);
    bench::fill_random_su3(host, 1);
    const GaugeField U = host.on(Backend::cuda);
    const auto loop = [](const GaugeField& V) {
      const std::complex<double> L = polyakov_loop(V, 3);
      return std::vector<double>{L.real(), L.imag()};
    };
    const std::string bits = compared(section, "Polyakov loop", loop(U), loop(host), 1e-12);
    const double bytes = 18 * 8 * double(lattice->geometry().volume());
    section.print(row_of(section, "Polyakov loop", lattice->extents(), Precision::double_precision, 18, 1,
                         time_of([&] { (void)loop(U); }), 0, bytes, bits));
  });
}
}  // namespace

void measure_measurements(Section& section, const std::vector<int>& extents) {
  for (const int L : extents) {
    const LatticePtr lattice = make_lattice({L, L, L, 2 * L});
    contractions(section, lattice);
    point_sources(section, lattice);
    polyakov(section, lattice);
  }
}

}  // namespace trellis::gpu_check
