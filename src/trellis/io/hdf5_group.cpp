/// This file has groups and arrays in HDF5 files.
#include <sys/stat.h>

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/hdf5_handle.hpp"

namespace trellis::hdf5 {

namespace {

Handle complex_type(hid_t part, size_t bytes, const char* real, const char* imaginary) {
  Handle type(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose);
  H5Tinsert(type.get(), real, 0, part);
  H5Tinsert(type.get(), imaginary, bytes, part);
  return type;
}

Handle memory_type(Type type, const char* real = "r", const char* imaginary = "i") {
  switch (type) {
    case Type::float64:
      return Handle(H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose);
    case Type::float32:
      return Handle(H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose);
    case Type::int64:
      return Handle(H5Tcopy(H5T_NATIVE_INT64), H5Tclose);
    case Type::complex128:
      return complex_type(H5T_NATIVE_DOUBLE, sizeof(double), real, imaginary);
    case Type::complex64:
      return complex_type(H5T_NATIVE_FLOAT, sizeof(float), real, imaginary);
  }
  throw BadArgument("no such HDF5 type");
}

/// Files are little-endian everywhere.
Handle file_type(Type type) {
  switch (type) {
    case Type::float64:
      return Handle(H5Tcopy(H5T_IEEE_F64LE), H5Tclose);
    case Type::float32:
      return Handle(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    case Type::int64:
      return Handle(H5Tcopy(H5T_STD_I64LE), H5Tclose);
    case Type::complex128:
      return complex_type(H5T_IEEE_F64LE, 8, "r", "i");
    case Type::complex64:
      return complex_type(H5T_IEEE_F32LE, 4, "r", "i");
  }
  throw BadArgument("no such HDF5 type");
}

std::vector<hsize_t> as_hsize(const Dims& dims) {
  std::vector<hsize_t> sizes;
  for (const int64_t d : dims) {
    TRELLIS_REQUIRE(d >= 0, "an HDF5 array has the extent ", d);
    sizes.push_back(hsize_t(d));
  }
  return sizes;
}

Handle simple_space(const Dims& dims) {
  const auto sizes = as_hsize(dims);
  return Handle(
      dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(int(sizes.size()), sizes.data(), nullptr),
      H5Sclose);
}

std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

std::vector<hsize_t> array_dims(hid_t array_type) {
  std::vector<hsize_t> sizes(size_t(std::max(H5Tget_array_ndims(array_type), 0)));
  if (!sizes.empty()) H5Tget_array_dims2(array_type, sizes.data());
  return sizes;
}

/// Returns the type in memory of what a file stores as `stored`, for a complex T with the member names of the
/// file ("r", "i" or "re", "im"). It is invalid if numbers of this kind cannot be converted. QDP++ stores
/// matrices as array types.
Handle memory_type_for(const Handle& stored, Type type) {
  if (H5Tget_class(stored.get()) == H5T_ARRAY) {
    const Handle element = memory_type_for(Handle(H5Tget_super(stored.get()), H5Tclose), type);
    const std::vector<hsize_t> sizes = array_dims(stored.get());
    return element.is_valid()
               ? Handle(H5Tarray_create2(element.get(), unsigned(sizes.size()), sizes.data()), H5Tclose)
               : Handle();
  }
  const bool is_complex = type == Type::complex128 || type == Type::complex64;
  const H5T_class_t stored_class = H5Tget_class(stored.get());
  if (!is_complex)
    return stored_class == H5T_FLOAT || stored_class == H5T_INTEGER ? memory_type(type) : Handle();
  if (stored_class != H5T_COMPOUND || H5Tget_nmembers(stored.get()) != 2) return Handle();
  char* names[2] = {H5Tget_member_name(stored.get(), 0), H5Tget_member_name(stored.get(), 1)};
  Handle result = names[0] && names[1] ? memory_type(type, names[0], names[1]) : Handle();
  for (char* name : names) H5free_memory(name);
  return result;
}

/// Returns the extents of the array, then those of an array type.
Dims dims_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> sizes(size_t(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr);
  Dims dims(sizes.begin(), sizes.end());
  for (Handle type(H5Dget_type(dataset), H5Tclose); H5Tget_class(type.get()) == H5T_ARRAY;
       type = Handle(H5Tget_super(type.get()), H5Tclose))
    for (const hsize_t size : array_dims(type.get())) dims.push_back(int64_t(size));
  return dims;
}

std::string object_path(const std::string& group, const std::string& name) {
  return message(group, group == "/" ? "" : "/", name);
}

struct SiteBox {
  std::vector<hsize_t> offset, count;
};

/// Returns this rank's part of an array [t][z][y][x][inner...].
SiteBox box_of(const Geometry& geometry, const Dims& inner = {}) {
  SiteBox box;
  for (int mu = Nd - 1; mu >= 0; --mu) {
    box.offset.push_back(hsize_t(geometry.origin()[size_t(mu)]));
    box.count.push_back(hsize_t(geometry.local()[size_t(mu)]));
  }
  for (const int64_t d : inner) {
    box.offset.push_back(0);
    box.count.push_back(hsize_t(d));
  }
  return box;
}

Dims site_dims(const Geometry& geometry, const Dims& inner) {
  const Coord& l = geometry.lattice();
  Dims dims{l[3], l[2], l[1], l[0]};
  dims.insert(dims.end(), inner.begin(), inner.end());
  return dims;
}

}  // namespace

Group::Group(std::shared_ptr<OpenFile> file, std::string path)
    : file_{std::move(file)}, path_{std::move(path)} {}

std::string Group::full(const std::string& name) const {
  return message(file_->current_path, ": ", name == "." ? path_ : object_path(path_, name));
}

void Group::fail(const std::string& what) const { throw FileError(what); }

Group Group::make_group(const std::string& name) {
  const Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);  // equal data give equal files
  for (size_t end = name.find('/');; end = name.find('/', end + 1)) {
    const std::string part = name.substr(0, end);
    if (!part.empty() && !has(part)) {
      if (file_->is_written) file_->reserve(object_bytes);
      const Handle group(H5Gcreate2(file_->file.get(), object_path(path_, part).c_str(), H5P_DEFAULT,
                                    properties.get(), H5P_DEFAULT),
                         H5Gclose);
      if (!group.is_valid()) fail(message("cannot make the group ", full(part), ": ", last_hdf5_error()));
    }
    if (end == std::string::npos) break;
  }
  return group(name);
}

Group Group::group(const std::string& name) const {
  const std::string path = object_path(path_, name);
  const Handle group(has(name) ? H5Gopen2(file_->file.get(), path.c_str(), H5P_DEFAULT) : -1, H5Gclose);
  if (!group.is_valid()) fail(message(full(name), ": expected a group, found none"));
  return Group(file_, path);
}

bool Group::has(const std::string& name) const {
  // HDF5 wants each step of the path to exist before it answers.
  std::string path = path_ == "/" ? "" : path_;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    if (end > at) {
      path.append("/").append(name, at, end - at);
      if (H5Lexists(file_->file.get(), path.c_str(), H5P_DEFAULT) <= 0) return false;
    }
    at = end + 1;
  }
  return H5Oexists_by_name(file_->file.get(), path.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Group::names() const {
  std::vector<std::string> names;
  const Handle group(H5Gopen2(file_->file.get(), path_.c_str(), H5P_DEFAULT), H5Gclose);
  H5Literate(
      group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->push_back(name);
        return 0;
      },
      &names);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {
Handle open_dataset(const OpenFile& file, const std::string& path) {
  return Handle(H5Dopen2(file.file.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
}
}  // namespace

Handle Group::create_dataset(const std::string& name, Type type, const Dims& dims) {
  if (has(name)) fail(message(full(name), " is there already"));
  int64_t bytes = int64_t(H5Tget_size(file_type(type).get()));
  for (const int64_t d : dims) bytes *= d;
  file_->reserve(bytes + object_bytes);
  if (const size_t last = name.rfind('/'); last != std::string::npos && last > 0)
    make_group(name.substr(0, last));
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);  // equal data give equal files
  const Handle space = simple_space(dims);
  Handle dataset(H5Dcreate2(file_->file.get(), object_path(path_, name).c_str(), file_type(type).get(),
                            space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                 H5Dclose);
  file_->communicator->agree_on_error(
      dataset.is_valid() ? "" : message("cannot make the array ", full(name), ": ", last_hdf5_error()));
  return dataset;
}

void Group::write_array(const std::string& name, Type type, const void* data, const Dims& dims) {
  Handle dataset = create_dataset(name, type, dims);
  const Handle memory = memory_type(type);  // it lives on: closing it would clear the reason of an error
  std::string error;
  if (file_->communicator->rank() == 0 &&
      H5Dwrite(dataset.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
    error = message("writing ", full(name), ": ", last_hdf5_error());
  keep_or_remove(name, std::move(dataset), error);
}

void Group::keep_or_remove(const std::string& name, Handle dataset, const std::string& error) {
  try {
    file_->communicator->agree_on_error(error);
  } catch (...) {
    remove_array(name, std::move(dataset));
    throw;
  }
}

/// An array that could not be written is removed, so that the file can be closed without room for it.
void Group::remove_array(const std::string& name, Handle dataset) {
  dataset.reset();
  H5Ldelete(file_->file.get(), object_path(path_, name).c_str(), H5P_DEFAULT);
}

Dims Group::dims(const std::string& name) const {
  const Handle dataset = open_dataset(*file_, object_path(path_, name));
  if (!dataset.is_valid()) fail(message(full(name), ": expected an array, found none"));
  return dims_of(dataset.get());
}

size_t Group::elements_to_read(const std::string& name, size_t bytes_each) const {
  const Dims extents = dims(name);
  struct stat status {};
  ::stat(file_->current_path.c_str(), &status);
  // Compressed arrays may be larger than the file, but not without bound.
  const int64_t most = std::max<int64_t>(1 << 26, status.st_size * 1000) / int64_t(bytes_each);
  int64_t elements = 1;
  for (const int64_t d : extents) {
    if (d != 0 && elements > most / d)
      fail(message(full(name), ": an array ", text_of(extents), " cannot be in a file of ", status.st_size,
                   " bytes"));
    elements *= d;
  }
  return size_t(elements);
}

void Group::read_array(const std::string& name, Type type, void* data) const {
  const Handle dataset = open_dataset(*file_, object_path(path_, name));
  const Handle memory = memory_type_for(Handle(H5Dget_type(dataset.get()), H5Tclose), type);
  if (!memory.is_valid())
    fail(message(full(name), " does not hold numbers of the expected kind (real or complex {r, i})"));
  std::string error;
  if (H5Dread(dataset.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
    error = message("reading ", full(name), ": ", last_hdf5_error());
  file_->communicator->agree_on_error(error);
}

namespace {
/// Moves each rank's sites in slabs of times: move(space in memory, bytes before it) is H5Dread or H5Dwrite.
/// An error of one rank is thrown on all, and Ctrl-C ends it between two slabs.
template <class Move>
void in_slabs(const SiteBox& box, const Handle& memory, const Handle& file_space, Communicator& communicator,
              const std::string& what, const Move& move) {
  constexpr size_t slab_bytes = size_t(64) << 20;
  size_t slice_bytes = H5Tget_size(memory.get());
  for (size_t i = 1; i < box.count.size(); ++i) slice_bytes *= size_t(box.count[i]);
  const hsize_t slices = std::max<hsize_t>(1, slab_bytes / std::max<size_t>(1, slice_bytes));
  auto offset = box.offset, count = box.count;
  for (hsize_t first = 0; first < box.count[0]; first += slices) {
    offset[0] = box.offset[0] + first;
    count[0] = std::min(slices, box.count[0] - first);
    const Handle memory_space(H5Screate_simple(int(count.size()), count.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr);
    const bool is_moved = move(memory_space.get(), size_t(first) * slice_bytes) >= 0;
    communicator.agree_on_error(is_moved ? "" : message(what, ": ", last_hdf5_error()));
    stop_together(communicator);
  }
}
}  // namespace

void Group::write_site_array(const std::string& name, const Geometry& geometry, Type type, const void* local,
                             const Dims& inner) {
  Handle dataset = create_dataset(name, type, site_dims(geometry, inner));
  const Handle file_space(H5Dget_space(dataset.get()), H5Sclose);
  // Transfers are independent: a collective one hangs when one rank's disk is full.
  const Handle memory = memory_type(type);
  const auto move = [&](hid_t memory_space, size_t at) {
    return H5Dwrite(dataset.get(), memory.get(), memory_space, file_space.get(), H5P_DEFAULT,
                    static_cast<const std::byte*>(local) + at);
  };
  try {
    in_slabs(box_of(geometry, inner), memory, file_space, *file_->communicator, "writing " + full(name),
             move);
  } catch (...) {
    remove_array(name, std::move(dataset));
    throw;
  }
}

void Group::read_site_array(const std::string& name, const Geometry& geometry, Type type, void* local,
                            const Dims& inner) const {
  const Handle dataset = open_dataset(*file_, object_path(path_, name));
  if (!dataset.is_valid()) fail(message(full(name), ": expected an array, found none"));
  const Dims expected = site_dims(geometry, inner), found = dims_of(dataset.get());
  if (found != expected)
    fail(message(full(name), ": expected an array ", text_of(expected), ", found ", text_of(found)));
  const Handle memory = memory_type_for(Handle(H5Dget_type(dataset.get()), H5Tclose), type);
  if (!memory.is_valid())
    fail(message(full(name), " does not hold numbers of the expected kind (real or complex {r, i})"));
  // Inner extents may belong to the type (QDP++), not to the array.
  const Handle file_space(H5Dget_space(dataset.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(file_space.get());
  if (rank < Nd) fail(message(full(name), ": expected an array of sites, found ", rank, " dimensions"));
  const SiteBox box = box_of(geometry, Dims(inner.begin(), inner.begin() + (rank - Nd)));
  in_slabs(box, memory, file_space, *file_->communicator, "reading " + full(name),
           [&](hid_t memory_space, size_t at) {
             return H5Dread(dataset.get(), memory.get(), memory_space, file_space.get(), H5P_DEFAULT,
                            static_cast<std::byte*>(local) + at);
           });
}

}  // namespace trellis::hdf5
