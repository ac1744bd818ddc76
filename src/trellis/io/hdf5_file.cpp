/// This file opens, creates and commits HDF5 files.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "trellis/base/error.hpp"
#include "trellis/io/hdf5.hpp"
#include "trellis/io/hdf5_handle.hpp"
#include "trellis/io/parallel_file.hpp"

namespace trellis::hdf5 {

namespace {
/// Turns locks off before HDF5 looks at its environment. Files get their names when they are whole, and
/// nobody changes them later: a lock would protect nothing, and where a file system has none, no file could
/// be opened.
bool turn_locks_off() { return ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1) == 0; }
}  // namespace

void silence_hdf5() {
  static const bool done = turn_locks_off() && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)done;
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  std::string text = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
#ifdef H5_HAVE_PARALLEL
  text += ", parallel";
#endif
  return text;
}

std::string last_hdf5_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
        auto& first = *static_cast<std::string*>(out);
        if (first.empty() && error->desc != nullptr) first = error->desc;
        return 0;
      },
      &text);
  return text.empty() ? "no reason given" : text;
}

Handle access_properties(const Communicator& communicator) {
  Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!properties.is_valid()) throw Error("H5Pcreate failed");
  // Closing the file closes what is still open in it, so that a failed write leaves nothing behind.
  H5Pset_fclose_degree(properties.get(), H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
  H5Pset_file_locking(properties.get(), false, true);  // another library may have initialised HDF5 before
#endif
  if (communicator.size() > 1) {
#ifdef TRELLIS_WITH_MPI
    use_mpi_io(properties.get(), communicator);
#else
    throw NotAvailable("this build has no parallel HDF5");
#endif
  }
  return properties;
}

namespace {
constexpr int64_t first_bytes = 1 << 16;  ///< an empty file takes less

/// Returns what keeps rank 0 from reading a file that should be there, or "" if it can be read.
std::string why_unreadable(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return io::with_errno("cannot open " + path, errno);
  if (!S_ISREG(status.st_mode)) return path + " is not a regular file";
  if (::access(path.c_str(), R_OK) != 0) return io::with_errno("cannot read " + path, errno);
  silence_hdf5();
  if (H5Fis_hdf5(path.c_str()) <= 0) return path + ": expected an HDF5 file, found something else";
  return "";
}

/// Returns "" if the file system has room for that many bytes, or cannot tell.
std::string why_no_room(const std::string& path, int64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return io::with_errno("cannot open " + path, errno);
  std::string error;
  if (::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, off_t(bytes)) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS)
    error = io::with_errno(message("no room for ", bytes, " bytes in ", path), errno);
  ::close(descriptor);
  return error;
}

/// Returns "" if this process may write files of so many bytes (ulimit -f); the space of a disk is another
/// matter.
std::string why_too_large(const std::string& path, int64_t bytes) {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      uint64_t(bytes) <= limit.rlim_cur)
    return "";
  return message("cannot write ", path, ": files of this process may have ", limit.rlim_cur,
                 " bytes (ulimit -f), and it needs up to ", bytes);
}

std::string why_not_creatable(const std::string& path, const std::string& partial_path) {
  std::string error = io::why_not_replaceable(path);
  if (!error.empty()) return error;
  const int descriptor = ::open(partial_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return io::with_errno("cannot create " + partial_path, errno);
  ::close(descriptor);
  error = why_no_room(partial_path, first_bytes);
  if (!error.empty()) ::unlink(partial_path.c_str());
  return error;
}

/// Gives back what was reserved beyond the file's end, and puts the rest on the disk.
std::string trim_and_sync(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  struct stat status;
  const bool is_done = descriptor >= 0 && ::fstat(descriptor, &status) == 0 &&
                       ::ftruncate(descriptor, status.st_size) == 0 && ::fsync(descriptor) == 0;
  const std::string error = is_done ? "" : io::with_errno("syncing " + path, errno);
  if (descriptor >= 0) ::close(descriptor);
  return error;
}
}  // namespace

File::File(std::shared_ptr<OpenFile> file) : file_{std::move(file)} {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;

File::~File() {
  if (!file_ || !file_->file.is_valid()) return;
  if (file_->is_written)
    file_->abandon();
  else
    file_->file.reset();
}

/// HDF5 crashes at the program's end if it could not close a file. On a full disk it can close one when there
/// is room for the few bytes that it still writes, so the file is emptied first.
void OpenFile::abandon() {
  const bool is_root = communicator->rank() == 0;
  if (is_root && ::truncate(current_path.c_str(), 0) != 0) errno = 0;  // the file goes away in any case
  // This comes before the others may leave: then none ends this one first.
  if (is_root) ::unlink(current_path.c_str());
  communicator->barrier();
  file.reset();
}

void OpenFile::reserve(int64_t bytes) {
  constexpr int64_t step = int64_t(1) << 18;
  expected_bytes += bytes;
  // Beyond its limit HDF5 could not even close the file, and would crash at the program's end.
  communicator->agree_on_error(communicator->rank() == 0 ? why_too_large(current_path, expected_bytes) : "");
  if (expected_bytes <= reserved_bytes) return;
  communicator->agree_on_error(communicator->rank() == 0 ? why_no_room(current_path, expected_bytes + step)
                                                         : "");
  reserved_bytes = expected_bytes + step;
}

File File::create(const std::string& path, CommunicatorPtr communicator) {
  silence_hdf5();
  auto file = std::make_shared<OpenFile>();
  file->path = io::target_of_link(path);
  file->current_path = file->path + ".partial";
  file->communicator = communicator ? communicator : world();
  file->is_written = true;
  Communicator& ranks = *file->communicator;
  ranks.agree_on_error(ranks.rank() == 0 ? why_not_creatable(path, file->current_path) : "");
  const Handle access = access_properties(ranks);
  // Since 1.8 HDF5 can keep checksums of all that describes arrays and attributes. Without them one flipped
  // bit there makes the library follow wrong addresses, into crashes.
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  const Handle root(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_obj_track_times(root.get(), false);  // equal data give equal files
  file->file =
      Handle(H5Fcreate(file->current_path.c_str(), H5F_ACC_TRUNC, root.get(), access.get()), H5Fclose);
  ranks.agree_on_error(
      file->file.is_valid() ? "" : message("cannot create ", file->current_path, ": ", last_hdf5_error()));
  File result(file);
  file->reserve(first_bytes);
  return result;
}

File File::open(const std::string& path, CommunicatorPtr communicator) {
  silence_hdf5();
  auto file = std::make_shared<OpenFile>();
  file->path = file->current_path = path;
  file->communicator = communicator ? communicator : world();
  Communicator& ranks = *file->communicator;
  ranks.agree_on_error(ranks.rank() == 0 ? why_unreadable(path) : "");
  const Handle access = access_properties(ranks);
  file->file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  ranks.agree_on_error(file->file.is_valid() ? "" : message("cannot open ", path, ": ", last_hdf5_error()));
  return File(file);
}

void File::commit() {
  TRELLIS_REQUIRE(file_ && file_->is_written && file_->file.is_valid(),
                  "only a file that was created can be committed");
  Communicator& ranks = *file_->communicator;
  std::string error;
  if (H5Fflush(file_->file.get(), H5F_SCOPE_GLOBAL) < 0)
    error = message("writing ", file_->current_path, ": ", last_hdf5_error());
  try {
    ranks.agree_on_error(error);
  } catch (...) {
    file_->abandon();
    throw;
  }
  if (!file_->file.reset()) error = message("closing ", file_->current_path, ": ", last_hdf5_error());
  if (error.empty() && ranks.rank() == 0) error = trim_and_sync(file_->current_path);
  try {
    ranks.agree_on_error(error);
    ranks.agree_on_error(ranks.rank() == 0 ? io::sync_and_rename(file_->current_path, file_->path) : "");
  } catch (...) {
    if (ranks.rank() == 0) ::unlink(file_->current_path.c_str());
    ranks.barrier();
    throw;
  }
}

Group File::root() const { return Group(file_, "/"); }

}  // namespace trellis::hdf5
