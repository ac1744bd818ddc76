#include "tests/support/external_data.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "trellis/base/error.hpp"

namespace trellis::test {

namespace {
std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileError(message("cannot open ", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

uint64_t big_endian(const char* p, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | uint8_t(p[i]);
  return value;
}

double big_endian_double(const char* p) { return std::bit_cast<double>(big_endian(p, 8)); }

/// Returns the contents of the record of that type.
std::string lime_record(const std::string& path, const std::string& type) {
  constexpr uint64_t header = 144;
  const std::string file = whole_file(path);
  for (uint64_t at = 0; at + header <= file.size();) {
    if (big_endian(&file[at], 4) != 0x456789ab)
      throw FileError(message(path, ": no LIME header at byte ", at));
    const uint64_t length = big_endian(&file[at + 8], 8);
    const std::string name(&file[at + 16], strnlen(&file[at + 16], 128));
    if (length > file.size() - at - header)
      throw FileError(message(path, ": record ", name, " is truncated"));
    if (name == type) return file.substr(at + header, length);
    at += header + (length + 7) / 8 * 8;
  }
  throw FileError(message(path, ": no record ", type));
}

const nlohmann::json& gold_entry(const std::string& id) {
  static const nlohmann::json all = nlohmann::json::parse(whole_file(data_file("gold.json")));
  for (const auto& entry : all.at("entries"))
    if (entry.at("id") == id) return entry;
  throw BadArgument(message("gold.json has no entry ", id));
}
}  // namespace

bool has_data() { return std::getenv("TRELLIS_TEST_DATA") != nullptr; }

std::string data_file(const std::string& name) {
  const char* folder = std::getenv("TRELLIS_TEST_DATA");
  if (folder == nullptr) throw FileError("TRELLIS_TEST_DATA is not set");
  const std::string path = std::string(folder) + "/" + name;
  if (!std::filesystem::exists(path)) throw FileError(message("missing external data: ", path));
  return path;
}

const nlohmann::json& gold(const std::string& id) { return gold_entry(id).at("values"); }
const nlohmann::json& gold_parameters(const std::string& id) { return gold_entry(id).at("parameters"); }

std::complex<double> gold_complex(const nlohmann::json& value) {
  return {value.at("re").get<double>(), value.at("im").get<double>()};
}

std::vector<std::complex<double>> gold_complex_list(const nlohmann::json& value) {
  const auto re = value.at("re").get<std::vector<double>>(), im = value.at("im").get<std::vector<double>>();
  std::vector<std::complex<double>> list;
  for (size_t i = 0; i < re.size(); ++i) list.emplace_back(re[i], im.at(i));
  return list;
}

std::vector<double> xml_numbers(const std::string& path, const std::string& name) {
  const std::string text = whole_file(path), open = "<" + name + ">";
  const size_t begin = text.find(open), end = text.find("</" + name + ">");
  if (begin == std::string::npos || end == std::string::npos)
    throw FileError(message(path, ": no element ", name));
  std::istringstream words(text.substr(begin + open.size(), end - begin - open.size()));
  std::vector<double> numbers;
  for (double x; words >> x;) numbers.push_back(x);
  return numbers;
}

reference::Gauge read_lime_gauge(const std::string& path, const Coord& extents) {
  const std::string data = lime_record(path, "ildg-binary-data");
  reference::Gauge U = reference::unit_gauge(extents);
  if (data.size() != U.links.size() * 18 * sizeof(double))
    throw FileError(message(path, ": ", data.size(), " bytes of links, expected ", U.links.size() * 144));
  size_t at = 0;
  for (auto& link : U.links)  // t, z, y, x go slow to fast, then mu: this is the order of Gauge
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j, at += 16)
        link.e[i][j] = {big_endian_double(&data[at]), big_endian_double(&data[at + 8])};
  return U;
}

reference::Gauge read_text_gauge(const std::string& path, const Coord& extents) {
  std::istringstream words(whole_file(path));
  reference::Gauge U = reference::unit_gauge(extents);
  for (auto& link : U.links)
    for (int i = 0; i < Nc; ++i)
      for (int j = 0; j < Nc; ++j)
        if (!(words >> link.e[i][j].re >> link.e[i][j].im)) throw FileError(message(path, " is too short"));
  return U;
}

reference::Gauge field_F4() { return read_lime_gauge(data_file("quenched/b6.0_4x4x4x4.ildg"), {4, 4, 4, 4}); }
reference::Gauge field_F8() { return read_lime_gauge(data_file("quenched/b6.0_8x8x8x8.ildg"), {8, 8, 8, 8}); }
reference::Gauge field_A() { return read_lime_gauge(data_file("weak_field/weak_field.lime"), {4, 4, 4, 8}); }

}  // namespace trellis::test
