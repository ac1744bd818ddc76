#pragma once
/// HDF5 files have groups, arrays, distributed site arrays and attributes. Complex numbers are compounds {r,
/// i}, which h5py and NumPy read as complex. Errors are FileError; HDF5 itself prints nothing. All calls are
/// collective over the file's communicator, with the same arguments on every rank unless said otherwise.
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::hdf5 {

using Dims = std::vector<int64_t>;

enum class Type { float64, float32, int64, complex128, complex64 };
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, double>)
    return Type::float64;
  else if constexpr (std::is_same_v<T, float>)
    return Type::float32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return Type::int64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return Type::complex128;
  else {
    static_assert(std::is_same_v<T, std::complex<float>>,
                  "arrays hold double, float, int64_t or complex numbers");
    return Type::complex64;
  }
}

/// Returns "1.10.8", say, with ", parallel" where the library can do parallel files.
std::string library_version();

class Handle;     // it is an open HDF5 object
struct OpenFile;  // it has path, communicator, the file's identifier

/// It is a group, or the root of a file. Copies refer to the same group; it must not outlive its File.
class Group {
 public:
  /// Returns a subgroup, made where missing; "a/b/c" makes all three. Throws FileError in a file opened for
  /// reading.
  Group make_group(const std::string& name);
  /// Returns an existing subgroup. Throws FileError where there is none.
  Group group(const std::string& name) const;
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;  ///< subgroups and arrays have them; they are sorted
  const std::string& path() const { return path_; }

  /// Writes a whole array in row-major order; the data of rank 0 count, others may pass nullptr.
  template <class T>
  void write(const std::string& name, const T* data, const Dims& dims) {
    write_array(name, type_of<T>(), data, dims);
  }
  template <class T>
  void write(const std::string& name, const std::vector<T>& data) {
    write(name, data.data(), {int64_t(data.size())});
  }
  Dims dims(const std::string& name) const;
  /// Reads the whole array on every rank, converted to T (real to complex is refused).
  template <class T>
  std::vector<T> read(const std::string& name) const {
    std::vector<T> data(elements_to_read(name, sizeof(T)));
    read_array(name, type_of<T>(), data.data());
    return data;
  }

  /// Write or read an array [t][z][y][x][inner...], each rank its own sites: `local` has this rank's sites, x
  /// fastest, then inner. Throws FileError if the file's array has other dimensions.
  template <class T>
  void write_sites(const std::string& name, const Geometry& geometry, const T* local, const Dims& inner) {
    write_site_array(name, geometry, type_of<T>(), local, inner);
  }
  template <class T>
  void read_sites(const std::string& name, const Geometry& geometry, T* local, const Dims& inner) const {
    read_site_array(name, geometry, type_of<T>(), local, inner);
  }

  // These are the attributes of this group, or of the array or subgroup `of`. Writing replaces; what rank 0
  // has counts.
  void set_attribute(const std::string& name, const std::string& text, const std::string& of = ".");
  void set_attribute(const std::string& name, const char* text, const std::string& of = ".");
  void set_attribute(const std::string& name, double value, const std::string& of = ".");
  void set_attribute(const std::string& name, int64_t value, const std::string& of = ".");
  void set_attribute(const std::string& name, int value, const std::string& of = ".") {
    set_attribute(name, int64_t(value), of);
  }
  void set_attribute(const std::string& name, const std::vector<double>& values, const std::string& of = ".");
  void set_attribute(const std::string& name, const std::vector<int64_t>& values,
                     const std::string& of = ".");
  /// Writes a text into the attribute itself (h5py reads bytes), not into the file's heap: damage there can
  /// end the HDF5 library in a crash. The text has at most longest_fixed_text bytes, none of them zero;
  /// longer ones go as with set_attribute().
  void set_fixed_text(const std::string& name, const std::string& text, const std::string& of = ".");
  static constexpr size_t longest_fixed_text = 60000;  ///< attributes have less than 64 kB
  bool has_attribute(const std::string& name, const std::string& of = ".") const;
  std::string text_attribute(const std::string& name, const std::string& of = ".") const;
  std::vector<double> real_attribute(const std::string& name, const std::string& of = ".") const;
  std::vector<int64_t> integer_attribute(const std::string& name, const std::string& of = ".") const;

 private:
  friend class File;
  Group(std::shared_ptr<OpenFile> file, std::string path);
  void write_array(const std::string& name, Type type, const void* data, const Dims& dims);
  size_t elements_to_read(const std::string& name, size_t bytes_each) const;
  void read_array(const std::string& name, Type type, void* data) const;
  void write_site_array(const std::string& name, const Geometry& geometry, Type type, const void* local,
                        const Dims& inner);
  void read_site_array(const std::string& name, const Geometry& geometry, Type type, void* local,
                       const Dims& inner) const;
  void keep_or_remove(const std::string& name, Handle dataset, const std::string& error);
  void remove_array(const std::string& name, Handle dataset);
  Handle create_dataset(const std::string& name, Type type, const Dims& dims);
  void write_attribute(const std::string& name, const std::string& of, int64_t type, const void* data,
                       int64_t count, int64_t bytes);
  Handle open_attribute(const std::string& name, const std::string& of) const;
  [[noreturn]] void fail(const std::string& what) const;
  std::string full(const std::string& name) const;  ///< messages have "PATH: /group/name"

  std::shared_ptr<OpenFile> file_;
  std::string path_;
};

class File {
 public:
  /// Creates a file under the name path.partial, which commit() synchronises and renames to `path`.
  static File create(const std::string& path, CommunicatorPtr communicator = nullptr);
  static File open(const std::string& path, CommunicatorPtr communicator = nullptr);  ///< it is for reading
  ~File();
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;

  Group root() const;
  /// Synchronises and renames the file. Without it the partial file is removed, and an older file of that
  /// name stays. @pre the file was created
  void commit();

 private:
  explicit File(std::shared_ptr<OpenFile> file);
  std::shared_ptr<OpenFile> file_;
};

}  // namespace trellis::hdf5
