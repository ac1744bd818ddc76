#include "trellis/io/parallel_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "trellis/base/error.hpp"
#include "trellis/comm/stop_together.hpp"
#include "trellis/io/single/posix_file.hpp"
#ifdef TRELLIS_WITH_MPI
#include "trellis/io/mpi/mpi_file.hpp"
#endif

namespace trellis::io {

std::vector<Piece> merge(const std::vector<Piece>& pieces) {
  std::vector<Piece> merged;
  for (const Piece& p : pieces) {
    if (p.bytes == 0) continue;
    if (!merged.empty() && merged.back().offset + merged.back().bytes == p.offset)
      merged.back().bytes += p.bytes;
    else
      merged.push_back(p);
  }
  return merged;
}

std::string with_errno(const std::string& text, int error_number) {
  return text + ": " + std::strerror(error_number);
}

std::string why_not_replaceable(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return errno == ELOOP
               ? message("cannot write ", path, ": expected a file, found symbolic links in a circle")
               : "";
  if (S_ISREG(status.st_mode)) return "";
  return message("cannot write ", path, ": it is ", S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe",
                 ", and only a regular file is replaced");
}

std::string target_of_link(const std::string& path) {
  // The path is not canonical(): the last link may lead to a file that is not there yet.
  constexpr int most_links = 40;  // the system has the same limit
  std::filesystem::path target = path;
  for (int i = 0; i < most_links; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return target.string();  // this is no link
    target = target.parent_path() / next;
  }
  return path;
}

std::string sync_and_rename(const std::string& from, const std::string& to) {
  if (std::string error = why_not_replaceable(to); !error.empty()) return error;
  if (std::rename(from.c_str(), to.c_str()) != 0)
    return with_errno(message("cannot rename ", from, " to ", to), errno);
  const size_t slash = to.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : to.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return with_errno("cannot open the folder " + folder, errno);
  // Some file systems cannot synchronise a folder and say EINVAL: there the rename is already safe.
  const std::string error =
      ::fsync(fd) != 0 && errno != EINVAL ? with_errno("cannot sync the folder " + folder, errno) : "";
  ::close(fd);
  return error;
}

namespace {
std::string past_the_end(const std::string& path, int64_t size, const Piece& piece) {
  return message(path, " is truncated: expected at least ", piece.offset + piece.bytes, " bytes, found ",
                 size);
}
}  // namespace

void InputFile::read_common(int64_t offset, int64_t bytes, void* out) {
  TRELLIS_REQUIRE(offset >= 0 && bytes >= 0, "cannot read ", bytes, " bytes at ", offset, " of ", path_);
  if (bytes > size_ - offset) throw FileError(past_the_end(path_, size_, {offset, bytes}));
  std::vector<Piece> pieces;
  if (communicator_.rank() == 0 && bytes > 0) pieces.push_back({offset, bytes});
  communicator_.agree_on_error(read_merged(pieces, static_cast<std::byte*>(out)));
  if (bytes > 0) communicator_.broadcast(out, size_t(bytes), 0);
}

std::string InputFile::read_text(int64_t offset, int64_t bytes) {
  if (bytes > size_ - offset) throw FileError(past_the_end(path_, size_, {offset, bytes}));
  std::string text(size_t(bytes), '\0');
  read_common(offset, bytes, text.data());
  return text;
}

namespace {
void require_bounded(const std::vector<Piece>& pieces) {
  int64_t bytes = 0;
  for (const Piece& p : pieces) bytes += p.bytes;
  TRELLIS_REQUIRE(bytes <= largest_step, "one step of a collective file operation moves ", bytes,
                  " bytes, above ", largest_step);
}
}  // namespace

void InputFile::read_pieces(const std::vector<Piece>& pieces, void* out) {
  require_bounded(pieces);
  const std::vector<Piece> merged = merge(pieces);
  std::string error;
  if (!merged.empty() && merged.back().bytes > size_ - merged.back().offset)
    error = past_the_end(path_, size_, merged.back());
  communicator_.agree_on_error(error);
  communicator_.agree_on_error(read_merged(merged, static_cast<std::byte*>(out)));
}

OutputFile::OutputFile(const std::string& path, Communicator& communicator)
    : path_{path}, partial_path_{path + ".partial"}, communicator_{communicator} {}

void OutputFile::write_common(int64_t offset, const void* data, int64_t bytes) {
  std::vector<Piece> pieces;
  if (communicator_.rank() == 0 && bytes > 0) pieces.push_back({offset, bytes});
  communicator_.agree_on_error(write_merged(pieces, static_cast<const std::byte*>(data)));
}

void OutputFile::write_pieces(const std::vector<Piece>& pieces, const void* data) {
  require_bounded(pieces);
  communicator_.agree_on_error(write_merged(merge(pieces), static_cast<const std::byte*>(data)));
}

void OutputFile::commit(int64_t bytes) {
  communicator_.agree_on_error(close());
  std::string error;
  if (communicator_.rank() == 0) {
    struct stat status;
    if (::stat(partial_path_.c_str(), &status) != 0)
      error = with_errno("cannot find " + partial_path_ + " again", errno);
    else if (status.st_size != bytes)
      error = message(partial_path_, " has ", status.st_size, " bytes after writing, expected ", bytes);
    else
      error = sync_and_rename(partial_path_, path_);
  }
  communicator_.agree_on_error(error);
  is_committed_ = true;
}

void OutputFile::remove_partial() noexcept {
  if (communicator_.rank() == 0) ::unlink(partial_path_.c_str());
}

std::unique_ptr<InputFile> open_input(const std::string& path, Communicator& communicator) {
  int64_t size = 0;
  std::string error;
  if (communicator.rank() == 0) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0)
      error = with_errno("cannot open " + path, errno);
    else if (!S_ISREG(status.st_mode))
      error = path + " is not a regular file";
    else if (::access(path.c_str(), R_OK) != 0)
      error = with_errno("cannot read " + path, errno);
    else
      size = status.st_size;
  }
  communicator.agree_on_error(error);
  communicator.broadcast(&size, sizeof size, 0);
  if (communicator.size() == 1) return open_posix_input(path, size, communicator);
#ifdef TRELLIS_WITH_MPI
  return open_mpi_input(path, size, communicator);
#else
  throw NotAvailable(message("this build has no MPI-IO for ", communicator.size(), " ranks"));
#endif
}

std::unique_ptr<OutputFile> create_output(const std::string& path, Communicator& communicator) {
  communicator.agree_on_error(communicator.rank() == 0 ? why_not_replaceable(path) : "");
  const std::string target = target_of_link(path);
  if (communicator.size() == 1) return create_posix_output(target, communicator);
#ifdef TRELLIS_WITH_MPI
  return create_mpi_output(target, communicator);
#else
  throw NotAvailable(message("this build has no MPI-IO for ", communicator.size(), " ranks"));
#endif
}

namespace {
/// Walks through the local lines in x, slab by slab, and calls body(first site, sites, pieces of the file).
template <class Body>
void for_each_slab(int64_t offset, const Geometry& geometry, size_t bytes_per_site, const Body& body) {
  constexpr int64_t slab_bytes = int64_t(32) << 20;
  const Coord local = geometry.local();
  const int64_t line_bytes = int64_t(bytes_per_site) * local[0];
  const int64_t lines = geometry.local_volume() / local[0];
  const int64_t lines_per_slab = std::max<int64_t>(1, slab_bytes / line_bytes);
  for (int64_t first = 0; first < lines; first += lines_per_slab) {
    const int64_t last = std::min(lines, first + lines_per_slab);
    std::vector<Piece> pieces;
    pieces.reserve(size_t(last - first));
    for (int64_t line = first; line < last; ++line) {
      const int64_t site = geometry.global_index(site_coord(line * local[0], local));
      pieces.push_back({offset + site * int64_t(bytes_per_site), line_bytes});
    }
    body(first * local[0], (last - first) * local[0], pieces);
  }
}
}  // namespace

void read_sites(InputFile& file, int64_t offset, const Geometry& geometry, size_t bytes_per_site,
                const TakeSites& take) {
  // This comes before any memory is taken: the whole array must be in the file.
  const int64_t volume = geometry.volume();
  if (volume > (file.size() - offset) / int64_t(bytes_per_site))
    throw FileError(past_the_end(file.path(), file.size(), {offset, volume * int64_t(bytes_per_site)}));
  std::vector<std::byte> bytes;
  for_each_slab(offset, geometry, bytes_per_site,
                [&](int64_t first, int64_t sites, const std::vector<Piece>& pieces) {
                  bytes.resize(size_t(sites) * bytes_per_site);
                  file.read_pieces(pieces, bytes.data());
                  take(first, sites, bytes.data());
                  stop_together(file.communicator());
                });
}

void write_sites(OutputFile& file, int64_t offset, const Geometry& geometry, size_t bytes_per_site,
                 const FillSites& fill) {
  std::vector<std::byte> bytes;
  for_each_slab(offset, geometry, bytes_per_site,
                [&](int64_t first, int64_t sites, const std::vector<Piece>& pieces) {
                  bytes.resize(size_t(sites) * bytes_per_site);
                  fill(first, sites, bytes.data());
                  file.write_pieces(pieces, bytes.data());
                  stop_together(file.communicator());
                });
}

}  // namespace trellis::io
