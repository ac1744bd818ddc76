/// Python gets spin glasses here: spins, couplings, updates, sums over samples.
#include "bindings.hpp"
#include "trellis/glass/tempering.hpp"
#include "trellis/io/site_field_hdf5.hpp"

namespace trellis::bindings {

namespace {
SpinSums sums_from_name(const std::string& name) {
  constexpr std::pair<const char*, SpinSums> kinds[] = {{"energy", SpinSums::energy},
                                                        {"bonds", SpinSums::bonds},
                                                        {"overlap", SpinSums::overlap},
                                                        {"chirality", SpinSums::chirality},
                                                        {"magnetisation", SpinSums::magnetisation}};
  for (const auto& [known, kind] : kinds)
    if (name == known) return kind;
  throw BadArgument(message("sums are energy, bonds, overlap, chirality or magnetisation, not '", name, "'"));
}

/// Returns [t, z, y, x, component] of this rank.
std::vector<size_t> shape_of(const SpinGlass& glass) { return site_shape(glass.lattice().geometry(), {3}); }

std::string name_of_slot(int slot) { return message("spins_", slot); }

Array<double> sums(const SpinGlass& glass, const std::string& kind, const SlotPairs& pairs) {
  const SpinSums of = sums_from_name(kind);
  std::vector<double> values;
  {
    const nb::gil_scoped_release release;
    values = spin_sums(glass, of, pairs);
  }
  return to_array(values, {size_t(glass.samples()), pairs.size(), size_t(spin_sum_rows(of))});
}

/// A spin is stored as two complex numbers, x + i y and z.
const hdf5::Dims spin_dims{2};

void write(const SpinGlass& glass, hdf5::Group& group, int slot) {
  std::vector<double> spins(3 * size_t(glass.lattice().geometry().local_volume()));
  glass.spins_to_canonical(spins.data(), slot);
  std::vector<std::complex<double>> numbers;
  for (size_t i = 0; i < spins.size(); i += 3) {
    numbers.emplace_back(spins[i], spins[i + 1]);
    numbers.emplace_back(spins[i + 2], 0.0);
  }
  const int bits = glass.spec().precision == Precision::double_precision ? 64 : 32;
  write_site_field_hdf5(group, name_of_slot(slot), glass.lattice(), numbers.data(), spin_dims, bits);
}

void read_glass(SpinGlass& glass, const hdf5::Group& group, int slot) {
  std::vector<std::complex<double>> numbers(2 * size_t(glass.lattice().geometry().local_volume()));
  read_site_field_hdf5(group, name_of_slot(slot), glass.lattice(), numbers.data(), spin_dims);
  std::vector<double> spins;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const double S[3] = {numbers[i].real(), numbers[i].imag(), numbers[i + 1].real()};
    spins.insert(spins.end(), S, S + 3);
  }
  glass.set_spins(spins.data(), slot);
}

nb::tuple exchange(SpinGlass& glass, const std::vector<double>& betas, uint64_t seed, uint64_t stream,
                   uint32_t step) {
  ExchangeStep result;
  {
    const nb::gil_scoped_release release;
    result = exchange_temperatures(glass, betas, seed, stream, step);
  }
  const size_t samples = size_t(glass.samples());
  return nb::make_tuple(result.pairs, to_array(result.is_exchanged, {samples, result.pairs.size()}),
                        to_array(result.energies, {samples, size_t(glass.slots())}));
}
}  // namespace

void bind_glass(nb::module_& m) {
  m.def(
      "make_spin_lattice",
      [](const Coord& extents, const Coord& grid) {
        const Coord chosen = grid == Coord{0, 0, 0, 0} ? choose_spin_grid(extents, world()->size()) : grid;
        return std::const_pointer_cast<Lattice>(make_lattice(extents, chosen));
      },
      "extents"_a, "grid"_a);
  nb::class_<SpinGlass>(m, "SpinGlass")
      .def(
          "__init__",
          [](SpinGlass* self, std::shared_ptr<Lattice> lattice, const std::string& precision, int slots,
             int lanes) {
            new (self) SpinGlass(lattice,
                                 {.precision = precision_by_name(precision), .lanes = lanes, .slots = slots});
          },
          "lattice"_a, "precision"_a, "slots"_a, "lanes"_a = 0)
      .def_prop_ro("samples", &SpinGlass::samples)
      .def_prop_ro("slots", &SpinGlass::slots)
      .def_prop_ro("lanes", &SpinGlass::lanes)
      .def_prop_ro("bytes", &SpinGlass::bytes)
      .def_prop_ro("has_signs", [](const SpinGlass& g) { return g.couplings().are_signs(); })
      .def("sweeps_of_pass", &SpinGlass::sweeps_of_pass, "wished"_a)
      .def(
          "draw_couplings",
          [](SpinGlass& g, const std::string& kind, uint64_t seed, uint64_t stream) {
            g.draw_all_couplings(coupling_kind_from_name(kind), seed, stream);
          },
          "kind"_a, "seed"_a, "stream"_a, release_gil())
      .def(
          "set_couplings",
          [](SpinGlass& g, const ArrayIn<double>& couplings) {
            require_shape(couplings, shape_of(g), "couplings");
            const nb::gil_scoped_release release;
            g.set_couplings(couplings.data());
          },
          "couplings"_a)
      .def("couplings",
           [](const SpinGlass& g) { return to_array(g.couplings().to_canonical(), shape_of(g)); })
      .def("randomise", &SpinGlass::randomise, "seed"_a, "stream"_a, release_gil())
      .def(
          "set_spins",
          [](SpinGlass& g, const ArrayIn<double>& spins, int slot) {
            require_shape(spins, shape_of(g), "spins");
            g.set_spins(spins.data(), slot);
          },
          "spins"_a, "slot"_a)
      .def(
          "spins",
          [](const SpinGlass& g, int slot) {
            auto array = make_array<double>(shape_of(g));
            g.spins_to_canonical(array.data(), slot);
            return array;
          },
          "slot"_a)
      .def("write_hdf5", &write, "group"_a, "slot"_a, release_gil())
      .def("read_hdf5", &read_glass, "group"_a, "slot"_a, release_gil())
      .def("over_relax", &SpinGlass::over_relax, "sweeps"_a, "sweeps_per_pass"_a = 0, release_gil())
      .def("heat_bath", &SpinGlass::heat_bath, "betas"_a, "seed"_a, "stream"_a, "number"_a, release_gil())
      .def("sums", &sums, "kind"_a, "pairs"_a)
      .def("exchange_temperatures", &exchange, "betas"_a, "seed"_a, "stream"_a, "step"_a);
}

}  // namespace trellis::bindings
