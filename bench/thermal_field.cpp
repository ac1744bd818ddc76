#include "bench/thermal_field.hpp"

#include <algorithm>
#include <filesystem>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/gauge/starts.hpp"
#include "trellis/io/gauge_file.hpp"
#include "trellis/update/heatbath.hpp"

namespace trellis::bench {

namespace {
constexpr int over_relaxations = 4;
const char* const recipe_record = "ildg-data-lfn";

std::string recipe_of(const ThermalField& field) {
  return message("quenched, beta ", field.beta, ", seed ", field.seed, ", ", field.sweeps,
                 " sweeps from a hot start with ", over_relaxations, " over-relaxations each");
}

GaugeField read_kept(const ThermalField& field, const Coord& extents) {
  FileReport found;
  GaugeField U = read_gauge_field(field.kept, {0, 0, 0, 0}, nullptr, {}, &found);
  const std::string recipe = recipe_of(field);
  const auto record = std::find_if(found.metadata.begin(), found.metadata.end(),
                                   [](const auto& entry) { return entry.first == recipe_record; });
  if (found.lattice != extents || record == found.metadata.end() || record->second != recipe)
    throw BadArgument(
        message("--keep-field: ", field.kept, " keeps another field (", to_string(found.lattice), "; ",
                record == found.metadata.end() ? "no recipe" : record->second, ") than ", to_string(extents),
                "; ", recipe, ": name another file, or read it with --gauge"));
  return U;
}
}  // namespace

std::vector<OwnOption> ThermalField::options() {
  return {own_text("--gauge", "FILE", gauge,
                   "links to read, with their lattice, in place of a field that is made"),
          own_text("--keep-field", "FILE", kept, "where the field that is made stays for further runs"),
          own_real("--beta", beta, 0, 1e6, "beta of the field that is made"),
          own_integer("--seed", seed, 0, 2147483647, "seed of its heat bath"),
          own_integer("--field-sweeps", sweeps, 0, 1000000, "sweeps of its heat bath")};
}

GaugeField ThermalField::get(const Coord& extents) const {
  if (!gauge.empty()) return read_gauge_field(gauge);
  if (!kept.empty() && world()->any(world()->rank() == 0 && std::filesystem::exists(kept)))
    return read_kept(*this, extents);
  GaugeField U(make_lattice(extents));
  set_hot(U, uint64_t(seed));
  Heatbath heatbath({.beta = beta, .heatbath_sweeps = 1, .overrelaxation_sweeps = over_relaxations});
  for (int sweep = 1; sweep <= sweeps; ++sweep) heatbath.update(U, uint64_t(seed), 0, uint32_t(sweep));
  WriteOptions write;
  write.logical_file_name = recipe_of(*this);
  if (!kept.empty()) write_gauge_field(kept, U, GaugeFormat::ildg, write);
  return U;
}

}  // namespace trellis::bench
