#pragma once
/// Other programs made these files, below the folder that TRELLIS_TEST_DATA names. A test that needs them
/// begins with TRELLIS_NEEDS_DATA(): where the variable is unset, the test is skipped; where it is set, a
/// missing file is a failure.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/gauge.hpp"

#define TRELLIS_NEEDS_DATA() \
  if (!::trellis::test::has_data()) GTEST_SKIP() << "no data"

namespace trellis::test {

bool has_data();
/// Returns the path of a file in the folder; throws FileError when it is missing.
std::string data_file(const std::string& name);

/// Returns the values of one entry of gold.json.
const nlohmann::json& gold(const std::string& id);
const nlohmann::json& gold_parameters(const std::string& id);
/// Returns {re: ..., im: ...} numbers or lists.
std::complex<double> gold_complex(const nlohmann::json& value);
std::vector<std::complex<double>> gold_complex_list(const nlohmann::json& value);

/// Returns the numbers between <name> and </name>, the first time it occurs.
std::vector<double> xml_numbers(const std::string& path, const std::string& name);

/// Reads 64-bit ILDG/SciDAC binary records and shares nothing with io/: every record of the LIME file is
/// walked, the record "ildg-binary-data" is decoded, and its size must be that of the extents.
reference::Gauge read_lime_gauge(const std::string& path, const Coord& extents);
/// Reads Bridge++ text, which has one number a line: site (x fastest), direction, row, column, re and im.
reference::Gauge read_text_gauge(const std::string& path, const Coord& extents);

/// gold.md and the data's README name these fields.
reference::Gauge field_F4();
reference::Gauge field_F8();
reference::Gauge field_A();

/// Reads a data set of doubles (also compounds and arrays of doubles), flat in file order.
std::vector<double> read_hdf5(const std::string& path, const std::string& dataset);
std::vector<std::complex<double>> read_hdf5_complex(const std::string& path, const std::string& dataset);

}  // namespace trellis::test
