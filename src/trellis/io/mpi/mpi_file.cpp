#define OMPI_SKIP_MPICXX 1  // the C++ bindings of MPI-2 are not wanted
#include "trellis/io/mpi/mpi_file.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

/// Calls transfer(file, buffer, bytes) once or more, each time with the file view of at most `largest` bytes of
/// this rank's pieces; all ranks make as many calls as the one with most.
class PiecewiseTransfer {
 public:
  PiecewiseTransfer(MPI_File file, const std::vector<Piece>& pieces) : file_{file} {
    // The blocks of a derived datatype are counted in int.
    int64_t in_part = 0;
    parts_.emplace_back();
    for (Piece p : pieces)
      while (p.bytes > 0) {
        if (in_part == largest) {
          parts_.emplace_back();
          in_part = 0;
        }
        const int64_t bytes = std::min(p.bytes, largest - in_part);
        parts_.back().push_back({p.offset, bytes});
        p.offset += bytes;
        p.bytes -= bytes;
        in_part += bytes;
      }
  }

  template <class Transfer>
  int run(const Transfer& transfer) {
    int rounds = int(parts_.size());
    int code = MPI_Allreduce(MPI_IN_PLACE, &rounds, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    parts_.resize(size_t(rounds));
    int64_t done = 0;
    for (const auto& part : parts_) {
      // After an error the remaining collective calls are still made, or the other ranks would wait.
      int64_t bytes = 0;
      for (const Piece& p : part) bytes += p.bytes;
      const int this_code = run_part(part, int(bytes), done, transfer);
      if (code == MPI_SUCCESS) code = this_code;
      done += bytes;
    }
    return code;
  }

 private:
  static constexpr int64_t largest = int64_t(1) << 30;

  template <class Transfer>
  int run_part(const std::vector<Piece>& part, int bytes, int64_t done, const Transfer& transfer) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> offsets;
    for (const Piece& p : part) {
      lengths.push_back(int(p.bytes));
      offsets.push_back(MPI_Aint(p.offset));
    }
    MPI_Datatype type = MPI_BYTE;
    int code = MPI_SUCCESS;
    if (!part.empty()) {
      code = MPI_Type_create_hindexed(int(part.size()), lengths.data(), offsets.data(), MPI_BYTE, &type);
      if (code == MPI_SUCCESS) code = MPI_Type_commit(&type);
    }
    char native[] = "native";
    const int view_code = MPI_File_set_view(file_, 0, MPI_BYTE, type, native, MPI_INFO_NULL);
    MPI_Status status;
    const int transfer_code = transfer(done, bytes, &status);
    int moved = 0;
    if (transfer_code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &moved);
    if (!part.empty()) MPI_Type_free(&type);
    if (code == MPI_SUCCESS) code = view_code;
    if (code == MPI_SUCCESS) code = transfer_code;
    if (code == MPI_SUCCESS && moved != bytes) code = MPI_ERR_NO_SPACE;
    return code;
  }

  MPI_File file_;
  std::vector<std::vector<Piece>> parts_;
};

class MpiInputFile final : public InputFile {
 public:
  MpiInputFile(const std::string& path, int64_t size, Communicator& communicator) : InputFile(path, communicator) {
    size_ = size;
    const int code = MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file_);
    communicator.agree_on_error(text_of(code, "cannot open " + path));
  }
  ~MpiInputFile() override { MPI_File_close(&file_); }

 protected:
  std::string read_merged(const std::vector<Piece>& pieces, std::byte* out) override {
    const int code = PiecewiseTransfer(file_, pieces).run([&](int64_t done, int bytes, MPI_Status* status) {
      return MPI_File_read_at_all(file_, 0, out + done, bytes, MPI_BYTE, status);
    });
    if (code == MPI_ERR_NO_SPACE) return path() + " became shorter while it was read";
    return text_of(code, "reading " + path());
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
    const int code = MPI_File_open(MPI_COMM_WORLD, partial_path().c_str(), MPI_MODE_WRONLY, MPI_INFO_NULL, &file_);
    communicator.agree_on_error(text_of(code, "cannot create " + partial_path()));
    is_open_ = true;
  }
  ~MpiOutputFile() override {
    if (is_open_) MPI_File_close(&file_);
    if (!is_committed_) remove_partial();
  }

 protected:
  std::string write_merged(const std::vector<Piece>& pieces, const std::byte* data) override {
    const int code = PiecewiseTransfer(file_, pieces).run([&](int64_t done, int bytes, MPI_Status* status) {
      return MPI_File_write_at_all(file_, 0, data + done, bytes, MPI_BYTE, status);
    });
    return text_of(code, "writing " + partial_path());
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
