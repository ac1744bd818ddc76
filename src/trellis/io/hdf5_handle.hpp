#pragma once
/// The inside of hdf5.hpp has identifiers that close themselves, and the access properties of files.
#include <hdf5.h>

#include <string>
#include <utility>

#include "trellis/comm/communicator.hpp"

namespace trellis::hdf5 {

static_assert(sizeof(hid_t) == sizeof(int64_t), "HDF5 1.10 or later is needed");

/// Owns one HDF5 identifier, which is not valid if the call that made it failed.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_{id}, close_{close} {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_{std::exchange(other.id_, -1)}, close_{other.close_} {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  hid_t get() const { return id_; }
  bool is_valid() const { return id_ >= 0; }
  /// Closes it; returns false if that failed.
  bool reset() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// What HDF5 writes about an object or an attribute is at most this, its data apart.
inline constexpr int64_t object_bytes = 8192;

struct OpenFile {
  std::string path;          ///< this is the final name
  std::string current_path;  ///< it is path.partial while writing
  CommunicatorPtr communicator;
  Handle file;
  bool is_written = false;
  int64_t expected_bytes = 0;  ///< HDF5 will have written no more than this
  int64_t reserved_bytes = 0;  ///< the file system has promised them

  /// Makes sure that the disk has room for `bytes` more before HDF5 starts to write them: parallel HDF5
  /// hangs, and any HDF5 crashes at the end of the program, when a write fails. Throws FileError. Collective.
  void reserve(int64_t bytes);
  /// Closes a file that was being written and removes it. Collective.
  void abandon();
};

/// HDF5's own messages are turned off, once per process; errors are taken from its error stack.
void silence_hdf5();
/// Returns the innermost message of HDF5's error stack.
std::string last_hdf5_error();
/// Returns the access properties of a file: MPI-IO over all ranks if there is more than one. @pre
/// communicator is world() or has one rank.
Handle access_properties(const Communicator& communicator);
#ifdef TRELLIS_WITH_MPI
void use_mpi_io(hid_t access_properties, const Communicator& communicator);
#endif

}  // namespace trellis::hdf5
