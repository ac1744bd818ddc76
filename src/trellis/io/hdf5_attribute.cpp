/// Groups and arrays of HDF5 have attributes. Texts are UTF-8, mostly of variable length, which h5py reads as
/// str.
#include <algorithm>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/hdf5_handle.hpp"

namespace trellis::hdf5 {

namespace {
Handle text_type(size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}
constexpr int64_t scalar = -1;
}  // namespace

/// Writes an attribute; with count = scalar it has no dimension.
void Group::write_attribute(const std::string& name, const std::string& of, int64_t type, const void* data,
                            int64_t count, int64_t bytes) {
  const Handle object(
      H5Oopen(file_->file.get(), of == "." ? path_.c_str() : (path_ + "/" + of).c_str(), H5P_DEFAULT),
      H5Oclose);
  if (!object.is_valid()) fail(message(full(of), ": expected a group or an array, found none"));
  if (file_->is_written) file_->reserve(object_bytes + 2 * bytes);
  if (H5Aexists(object.get(), name.c_str()) > 0) H5Adelete(object.get(), name.c_str());
  const hsize_t size = hsize_t(std::max<int64_t>(count, 0));
  const Handle space(count == scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Handle attribute(H5Acreate2(object.get(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  const bool is_written = attribute.is_valid() &&
                          (size == 0 && count != scalar ? true : H5Awrite(attribute.get(), type, data) >= 0);
  file_->communicator->agree_on_error(
      is_written ? "" : message("writing attribute ", name, " of ", full(of), ": ", last_hdf5_error()));
}

namespace {
/// Returns what rank 0 has. HDF5 writes attributes collectively: ranks that bring different ones, of their
/// clocks for instance, end with different ideas of the file, or wait for each other for ever.
template <class Items>
Items of_root(Communicator& communicator, Items items) {
  if (communicator.size() == 1) return items;
  uint64_t count = items.size();
  communicator.broadcast(&count, sizeof count, 0);
  items.resize(count);
  if (count > 0) communicator.broadcast(items.data(), count * sizeof items[0], 0);
  return items;
}
}  // namespace

void Group::set_attribute(const std::string& name, const std::string& text, const std::string& of) {
  const std::string value = of_root(*file_->communicator, text);
  const char* data = value.c_str();
  write_attribute(name, of, text_type(H5T_VARIABLE).get(), &data, scalar, int64_t(value.size()));
}

void Group::set_attribute(const std::string& name, const char* text, const std::string& of) {
  set_attribute(name, std::string(text), of);
}

void Group::set_fixed_text(const std::string& name, const std::string& text, const std::string& of) {
  std::string value = of_root(*file_->communicator, text);
  if (value.size() > longest_fixed_text) return set_attribute(name, value, of);
  if (value.empty()) value.assign(1, '\0');
  const Handle type = text_type(value.size());
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  write_attribute(name, of, type.get(), value.data(), scalar, int64_t(value.size()));
}

void Group::set_attribute(const std::string& name, double value, const std::string& of) {
  const std::vector<double> values = of_root(*file_->communicator, std::vector<double>{value});
  write_attribute(name, of, H5T_NATIVE_DOUBLE, values.data(), scalar, 8);
}

void Group::set_attribute(const std::string& name, int64_t value, const std::string& of) {
  const std::vector<int64_t> values = of_root(*file_->communicator, std::vector<int64_t>{value});
  write_attribute(name, of, H5T_NATIVE_INT64, values.data(), scalar, 8);
}

void Group::set_attribute(const std::string& name, const std::vector<double>& numbers,
                          const std::string& of) {
  const std::vector<double> values = of_root(*file_->communicator, numbers);
  write_attribute(name, of, H5T_NATIVE_DOUBLE, values.data(), int64_t(values.size()),
                  8 * int64_t(values.size()));
}

void Group::set_attribute(const std::string& name, const std::vector<int64_t>& numbers,
                          const std::string& of) {
  const std::vector<int64_t> values = of_root(*file_->communicator, numbers);
  write_attribute(name, of, H5T_NATIVE_INT64, values.data(), int64_t(values.size()),
                  8 * int64_t(values.size()));
}

namespace {
std::string object_of(const std::string& path, const std::string& of) {
  return of == "." ? path : path + "/" + of;
}
}  // namespace

bool Group::has_attribute(const std::string& name, const std::string& of) const {
  if (of != "." && !has(of)) return false;
  const htri_t found =
      H5Aexists_by_name(file_->file.get(), object_of(path_, of).c_str(), name.c_str(), H5P_DEFAULT);
  if (found < 0) fail(message(full(of), ": its attributes are damaged: ", last_hdf5_error()));
  return found > 0;
}

Handle Group::open_attribute(const std::string& name, const std::string& of) const {
  if (!has_attribute(name, of)) fail(message(full(of), ": expected an attribute ", name, ", found none"));
  Handle attribute(H5Aopen_by_name(file_->file.get(), object_of(path_, of).c_str(), name.c_str(), H5P_DEFAULT,
                                   H5P_DEFAULT),
                   H5Aclose);
  if (!attribute.is_valid())
    fail(message(full(of), ": attribute ", name, " is damaged: ", last_hdf5_error()));
  return attribute;
}

std::string Group::text_attribute(const std::string& name, const std::string& of) const {
  const Handle attribute = open_attribute(name, of);
  const Handle stored(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Tget_class(stored.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1)
    fail(message(full(of), ": attribute ", name, " is not a text"));
  if (H5Tis_variable_str(stored.get()) > 0) {
    char* text = nullptr;
    // The stored type keeps the character set.
    if (H5Aread(attribute.get(), stored.get(), &text) < 0 || text == nullptr)
      fail(message("reading attribute ", name, " of ", full(of), ": ", last_hdf5_error()));
    const std::string result = text;
    H5free_memory(text);
    return result;
  }
  std::string text(H5Tget_size(stored.get()), '\0');
  if (H5Aread(attribute.get(), stored.get(), text.data()) < 0)
    fail(message("reading attribute ", name, " of ", full(of), ": ", last_hdf5_error()));
  return text.substr(0, text.find('\0'));
}

namespace {
template <class T>
std::vector<T> numbers(const Handle& attribute, hid_t type, const std::string& what) {
  const Handle stored(H5Aget_type(attribute.get()), H5Tclose);
  const H5T_class_t stored_class = H5Tget_class(stored.get());
  const bool is_number = stored_class == H5T_FLOAT || stored_class == H5T_INTEGER;
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  constexpr hssize_t most = 1 << 24;
  if (!is_number || count < 0 || count > most) throw FileError(what + " does not hold numbers");
  std::vector<T> values((size_t(count)));
  if (count > 0 && H5Aread(attribute.get(), type, values.data()) < 0)
    throw FileError(message("reading ", what, ": ", last_hdf5_error()));
  return values;
}
}  // namespace

std::vector<double> Group::real_attribute(const std::string& name, const std::string& of) const {
  return numbers<double>(open_attribute(name, of), H5T_NATIVE_DOUBLE, full(of) + ": attribute " + name);
}

std::vector<int64_t> Group::integer_attribute(const std::string& name, const std::string& of) const {
  return numbers<int64_t>(open_attribute(name, of), H5T_NATIVE_INT64, full(of) + ": attribute " + name);
}

}  // namespace trellis::hdf5
