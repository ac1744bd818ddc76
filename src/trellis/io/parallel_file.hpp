#pragma once
/// All ranks of a communicator read or write these files of bytes together: by MPI-IO where there are several
/// ranks, by POSIX calls where there is one, in memory for tests. Offsets and sizes have 64 bits, and no call
/// moves more than a bounded piece at once. Whatever goes wrong on one rank is thrown as FileError on all.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::io {

/// No rank moves more bytes than this in one call (MPI counts in int).
inline constexpr int64_t largest_step = int64_t(1) << 30;

/// This is a contiguous part of a file.
struct Piece {
  int64_t offset;
  int64_t bytes;
};

/// This is a file that is read. All calls are collective.
class InputFile {
 public:
  virtual ~InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  Communicator& communicator() const { return communicator_; }

  /// Reads the same bytes on every rank. Throws FileError if the file ends before offset + bytes.
  void read_common(int64_t offset, int64_t bytes, void* out);
  std::string read_text(int64_t offset, int64_t bytes);
  /// Reads each rank's own pieces, one after the other, into `out`.
  /// @pre offsets do not decrease, pieces do not overlap, their sum is at most largest_step. Throws FileError
  /// if one passes the end.
  void read_pieces(const std::vector<Piece>& pieces, void* out);

 protected:
  InputFile(std::string path, Communicator& communicator)
      : path_{std::move(path)}, communicator_{communicator} {}
  /// Reads merged pieces; returns "" or what went wrong on this rank.
  virtual std::string read_merged(const std::vector<Piece>& pieces, std::byte* out) = 0;
  int64_t size_ = 0;

 private:
  std::string path_;
  Communicator& communicator_;
};

/// This is a file that is written under the name `path`.partial and gets its name by commit(), when all of it
/// is on the disk: a full disk, an exception or a kill leave an older file of that name untouched. All calls
/// are collective.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& partial_path() const { return partial_path_; }
  Communicator& communicator() const { return communicator_; }

  /// Writes bytes that every rank has; rank 0 writes them.
  void write_common(int64_t offset, const void* data, int64_t bytes);
  void write_text(int64_t offset, const std::string& text) {
    write_common(offset, text.data(), int64_t(text.size()));
  }
  /// Writes each rank's own pieces, one after the other from `data`. @pre as for read_pieces.
  void write_pieces(const std::vector<Piece>& pieces, const void* data);
  /// Synchronises with the disk, checks that the file has `bytes` bytes, renames.
  void commit(int64_t bytes);

 protected:
  OutputFile(const std::string& path, Communicator& communicator);
  virtual std::string write_merged(const std::vector<Piece>& pieces, const std::byte* data) = 0;
  /// Synchronises and closes; returns "" or what went wrong on this rank.
  virtual std::string close() = 0;
  /// Removes the partial file of a write that was given up (rank 0).
  void remove_partial() noexcept;
  bool is_committed_ = false;

 private:
  std::string path_, partial_path_;
  Communicator& communicator_;
};

/// Throws FileError if the file is missing, unreadable or not a regular file.
/// @pre communicator is world() or has one rank.
std::unique_ptr<InputFile> open_input(const std::string& path, Communicator& communicator);
/// Makes bytes in memory look like a file of one rank (tests, fuzzing). The bytes must outlive it.
std::unique_ptr<InputFile> memory_input(const std::string& name, const void* data, size_t bytes);
std::unique_ptr<OutputFile> create_output(const std::string& path, Communicator& communicator);

/// Joins pieces that touch.
std::vector<Piece> merge(const std::vector<Piece>& pieces);
/// Returns "text: reason of errno".
std::string with_errno(const std::string& text, int error_number);
/// Returns "" if a file may be written under this name: nothing is there, or a regular file. A device or pipe
/// is not replaced by a rename.
std::string why_not_replaceable(const std::string& path);
/// Returns where a path leads that is a symbolic link, so that a rename replaces the file and not the link;
/// `path` itself if it is none, or leads in a circle.
std::string target_of_link(const std::string& path);
/// Synchronises the folder of `path`, so that a rename in it survives a crash, and renames. Returns "" or an
/// error.
std::string sync_and_rename(const std::string& from, const std::string& to);

// A site array has one record of bytes_per_site for each site of the lattice, x fastest, from `offset` on.
// Both loops go through this rank's sites in lexicographic order, in slabs of whole lines in x of about 32
// MiB.

/// It is called as take(first local site, sites, their bytes).
using TakeSites = std::function<void(int64_t, int64_t, const std::byte*)>;
/// It is called as fill(first local site, sites, where their bytes go).
using FillSites = std::function<void(int64_t, int64_t, std::byte*)>;
void read_sites(InputFile& file, int64_t offset, const Geometry& geometry, size_t bytes_per_site,
                const TakeSites& take);
void write_sites(OutputFile& file, int64_t offset, const Geometry& geometry, size_t bytes_per_site,
                 const FillSites& fill);

}  // namespace trellis::io
