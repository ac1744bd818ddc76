/// This program writes one small file of each gauge format into the folder given: tools/fuzz starts from
/// them.
#include <cmath>
#include <complex>
#include <cstdio>
#include <string>

#include "trellis/comm/single/single_communicator.hpp"
#include "trellis/io/gauge_file.hpp"

int main(int argc, char** argv) {
  using namespace trellis;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  GaugeField U(make_lattice({2, 2, 2, 4}, {0, 0, 0, 0}, std::make_shared<SingleCommunicator>()));
  for (int64_t site = 0; site < U.geometry().local_volume(); ++site)
    for (int mu = 0; mu < Nd; ++mu) {
      const Coord x = site_coord(site, U.geometry().local());
      const double angle = 0.1 * double(4 * site + mu);
      Link link{};
      link[0] = std::polar(1.0, angle);
      link[4] = std::polar(1.0, -2.0 * angle);
      link[8] = std::polar(1.0, angle);
      U.set_link(x, mu, link);
    }
  const std::string folder = std::string(argv[1]) + "/";
  for (const char* format : {"ildg", "scidac", "nersc", "nersc-2row", "milc", "openqcd"})
    write_gauge_field(folder + format, U, gauge_format_by_name(format));
  for (const char* format : {"ildg", "scidac", "nersc", "nersc-2row"}) {
    WriteOptions options;
    options.precision_bits = 32;
    options.is_little_endian = format[0] == 'n';
    write_gauge_field(folder + format + "-32", U, gauge_format_by_name(format), options);
  }
  // The library does not write Bridge++ text: it has 2^4 unit links, a number a line.
  std::FILE* text = std::fopen((folder + "bridge-text").c_str(), "w");
  if (text == nullptr) return 1;
  for (int k = 0; k < 16 * 4 * 18; ++k) std::fputs(k % 18 % 8 == 0 ? "1.0\n" : "0\n", text);
  std::fclose(text);
  return 0;
}
