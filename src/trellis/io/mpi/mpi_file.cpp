/// This file uses MPI-IO in two phases. Collective calls of MPI-IO gather the small pieces of many ranks too,
/// but some hang when one rank fails (Open MPI 4 on a full disk). So the pieces are exchanged here, each rank
/// reads or writes one contiguous region of the file by independent calls, and errors are agreed on
/// afterwards.
#define OMPI_SKIP_MPICXX 1  // the C++ bindings of MPI-2 are not wanted
#include "trellis/io/mpi/mpi_file.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>

#include "trellis/base/error.hpp"

namespace trellis::io {

namespace {

std::string text_of(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return "";
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return what + ": " + std::string(text, size_t(length));
}

void require_world(const Communicator& communicator) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  TRELLIS_REQUIRE(size == communicator.size(), "MPI-IO works over all ", size, " ranks, not over ",
                  communicator.size());
}

/// It has counts and displacements of one side of an MPI_Alltoallv.
struct Counts {
  explicit Counts(int ranks) : counts(size_t(ranks), 0), displacements(size_t(ranks), 0) {}
  void accumulate() {
    int64_t total = 0;
    for (size_t r = 0; r < counts.size(); ++r) {
      displacements[r] = int(total);
      total += counts[r];
    }
    if (total > std::numeric_limits<int>::max())
      throw FileError(
          message("one step of a collective file operation moves ", total, " bytes, above MPI's limit"));
  }
  size_t total() const { return size_t(displacements.back()) + size_t(counts.back()); }
  std::vector<int> counts, displacements;
};

/// They tell who reads or writes which bytes: the span of all ranks' pieces is cut into one region per rank.
/// Collective.
class Regions {
 public:
  Regions(const std::vector<Piece>& pieces, int ranks)
      : piece_send_(ranks), piece_receive_(ranks), byte_send_(ranks), byte_receive_(ranks) {
    int64_t span[2] = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};
    if (!pieces.empty()) {
      span[0] = pieces.front().offset;
      span[1] = -(pieces.back().offset + pieces.back().bytes);
    }
    MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (span[0] == std::numeric_limits<int64_t>::max()) return;
    const int64_t first = span[0], last = -span[1];
    const int64_t region = std::max<int64_t>(1, (last - first + ranks - 1) / ranks);
    for (Piece p : pieces)
      while (p.bytes > 0) {
        const int64_t owner = (p.offset - first) / region;
        const int64_t bytes = std::min(p.bytes, first + (owner + 1) * region - p.offset);
        sent_.push_back({p.offset, bytes});
        piece_send_.counts[size_t(owner)] += 2;  // a piece has two 64-bit integers
        byte_send_.counts[size_t(owner)] += int(bytes);
        p.offset += bytes;
        p.bytes -= bytes;
      }
    exchange_pieces();
  }

  /// Returns the pieces of this rank's region, merged.
  std::vector<Piece> merged() const {
    std::vector<Piece> pieces;
    for (const int64_t i : order_) pieces.push_back(received_[size_t(i)]);
    return merge(pieces);
  }
  size_t region_bytes() const { return byte_receive_.total(); }

  /// Brings the pieces of all ranks to this rank's region (sorted by offset), for writing.
  void gather(const std::byte* mine, std::byte* region) const {
    std::vector<std::byte> buffer(region_bytes());
    all_to_all(mine, byte_send_, buffer.data(), byte_receive_);
    for (const int64_t i : order_) {
      std::memcpy(region, buffer.data() + buffer_at_[size_t(i)], size_t(received_[size_t(i)].bytes));
      region += received_[size_t(i)].bytes;
    }
  }
  /// Does the inverse, for reading.
  void scatter(const std::byte* region, std::byte* mine) const {
    std::vector<std::byte> buffer(region_bytes());
    for (const int64_t i : order_) {
      std::memcpy(buffer.data() + buffer_at_[size_t(i)], region, size_t(received_[size_t(i)].bytes));
      region += received_[size_t(i)].bytes;
    }
    all_to_all(buffer.data(), byte_receive_, mine, byte_send_);
  }

 private:
  static void all_to_all(const std::byte* in, const Counts& of_in, std::byte* out, const Counts& of_out) {
    MPI_Alltoallv(in, of_in.counts.data(), of_in.displacements.data(), MPI_BYTE, out, of_out.counts.data(),
                  of_out.displacements.data(), MPI_BYTE, MPI_COMM_WORLD);
  }

  void exchange_pieces() {
    MPI_Alltoall(piece_send_.counts.data(), 1, MPI_INT, piece_receive_.counts.data(), 1, MPI_INT,
                 MPI_COMM_WORLD);
    MPI_Alltoall(byte_send_.counts.data(), 1, MPI_INT, byte_receive_.counts.data(), 1, MPI_INT,
                 MPI_COMM_WORLD);
    for (Counts* c : {&piece_send_, &piece_receive_, &byte_send_, &byte_receive_}) c->accumulate();
    received_.resize(piece_receive_.total() / 2);
    static_assert(sizeof(Piece) == 2 * sizeof(int64_t));
    MPI_Alltoallv(sent_.data(), piece_send_.counts.data(), piece_send_.displacements.data(), MPI_INT64_T,
                  received_.data(), piece_receive_.counts.data(), piece_receive_.displacements.data(),
                  MPI_INT64_T, MPI_COMM_WORLD);
    size_t at = 0;
    for (const Piece& p : received_) {
      buffer_at_.push_back(at);
      at += size_t(p.bytes);
    }
    order_.resize(received_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      return received_[size_t(a)].offset < received_[size_t(b)].offset;
    });
  }

  Counts piece_send_, piece_receive_, byte_send_, byte_receive_;
  std::vector<Piece> sent_, received_;
  std::vector<size_t> buffer_at_;  ///< it tells where received_[i] lies, in the order of ranks
  std::vector<int64_t> order_;     ///< it orders received_ by offset
};

/// Calls transfer(offset, buffer position, bytes, status) for parts that an int can count; stops at the first
/// error.
template <class Transfer>
std::string in_parts(const std::vector<Piece>& pieces, const std::string& what, const Transfer& transfer) {
  int64_t at = 0;
  for (Piece p : pieces)
    while (p.bytes > 0) {
      const int bytes = int(std::min(p.bytes, largest_step));
      MPI_Status status;
      errno = 0;
      const int code = transfer(p.offset, at, bytes, &status);
      if (code != MPI_SUCCESS) return text_of(code, errno != 0 ? with_errno(what, errno) : what);
      int moved = 0;
      MPI_Get_count(&status, MPI_BYTE, &moved);
      if (moved != bytes)
        return message(what, ": expected to move ", bytes, " bytes at ", p.offset, ", moved ", moved,
                       " (is the disk full?)");
      p.offset += bytes;
      p.bytes -= bytes;
      at += bytes;
    }
  return "";
}

/// Open MPI 4 opens no file whose whole path is one letter.
std::string with_folder(const std::string& path) {
  return path.find('/') == std::string::npos ? "./" + path : path;
}

class MpiInputFile final : public InputFile {
 public:
  MpiInputFile(const std::string& path, int64_t size, Communicator& communicator)
      : InputFile(path, communicator) {
    size_ = size;
    const int code =
        MPI_File_open(MPI_COMM_WORLD, with_folder(path).c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file_);
    communicator.agree_on_error(text_of(code, "cannot open " + path));
  }
  ~MpiInputFile() override { MPI_File_close(&file_); }

 protected:
  std::string read_merged(const std::vector<Piece>& pieces, std::byte* out) override {
    const Regions regions(pieces, communicator().size());
    std::vector<std::byte> region(regions.region_bytes());
    const std::string error =
        in_parts(regions.merged(), "reading " + path(),
                 [&](int64_t offset, int64_t at, int bytes, MPI_Status* status) {
                   return MPI_File_read_at(file_, offset, region.data() + at, bytes, MPI_BYTE, status);
                 });
    regions.scatter(region.data(), out);
    return error;
  }

 private:
  MPI_File file_;
};

class MpiOutputFile final : public OutputFile {
 public:
  MpiOutputFile(const std::string& path, Communicator& communicator) : OutputFile(path, communicator) {
    // Rank 0 makes the file first: its error has a reason, which MPI's often lacks.
    std::string error;
    if (communicator.rank() == 0) {
      const int descriptor = ::open(partial_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (descriptor < 0)
        error = with_errno("cannot create " + partial_path(), errno);
      else
        ::close(descriptor);
    }
    communicator.agree_on_error(error);
    const int code = MPI_File_open(MPI_COMM_WORLD, with_folder(partial_path()).c_str(), MPI_MODE_WRONLY,
                                   MPI_INFO_NULL, &file_);
    communicator.agree_on_error(text_of(code, "cannot create " + partial_path()));
    is_open_ = true;
  }
  ~MpiOutputFile() override {
    if (!is_committed_) remove_partial();  // the close waits for all: until then none has left
    if (is_open_) MPI_File_close(&file_);
  }

 protected:
  std::string write_merged(const std::vector<Piece>& pieces, const std::byte* data) override {
    const Regions regions(pieces, communicator().size());
    std::vector<std::byte> region(regions.region_bytes());
    regions.gather(data, region.data());
    return in_parts(regions.merged(), "writing " + partial_path(),
                    [&](int64_t offset, int64_t at, int bytes, MPI_Status* status) {
                      return MPI_File_write_at(file_, offset, region.data() + at, bytes, MPI_BYTE, status);
                    });
  }
  std::string close() override {
    const int sync_code = MPI_File_sync(file_);
    const int close_code = MPI_File_close(&file_);
    is_open_ = false;
    return text_of(sync_code != MPI_SUCCESS ? sync_code : close_code, "syncing " + partial_path());
  }

 private:
  MPI_File file_;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<InputFile> open_mpi_input(const std::string& path, int64_t size, Communicator& communicator) {
  require_world(communicator);
  return std::make_unique<MpiInputFile>(path, size, communicator);
}

std::unique_ptr<OutputFile> create_mpi_output(const std::string& path, Communicator& communicator) {
  require_world(communicator);
  return std::make_unique<MpiOutputFile>(path, communicator);
}

}  // namespace trellis::io
