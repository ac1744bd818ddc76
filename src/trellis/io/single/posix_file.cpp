#include "trellis/io/single/posix_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/comm/single/single_communicator.hpp"

namespace trellis::io {

namespace {

class PosixInputFile final : public InputFile {
 public:
  PosixInputFile(const std::string& path, int64_t size, Communicator& communicator)
      : InputFile(path, communicator) {
    size_ = size;
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    communicator.agree_on_error(descriptor_ < 0 ? with_errno("cannot open " + path, errno) : "");
  }
  ~PosixInputFile() override { ::close(descriptor_); }

 protected:
  std::string read_merged(const std::vector<Piece>& pieces, std::byte* out) override {
    for (Piece p : pieces)
      while (p.bytes > 0) {
        const ssize_t got = ::pread(descriptor_, out, size_t(std::min(p.bytes, largest_step)), p.offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return with_errno("reading " + path(), errno);
        if (got == 0)
          return message(path(), " became shorter while it was read: it ends at ", p.offset, ", expected ",
                         size(), " bytes");
        p.offset += got;
        p.bytes -= got;
        out += got;
      }
    return "";
  }

 private:
  int descriptor_;
};

class PosixOutputFile final : public OutputFile {
 public:
  PosixOutputFile(const std::string& path, Communicator& communicator) : OutputFile(path, communicator) {
    descriptor_ = ::open(partial_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    communicator.agree_on_error(descriptor_ < 0 ? with_errno("cannot create " + partial_path(), errno) : "");
  }
  ~PosixOutputFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!is_committed_) remove_partial();
  }

 protected:
  std::string write_merged(const std::vector<Piece>& pieces, const std::byte* data) override {
    for (Piece p : pieces)
      while (p.bytes > 0) {
        const ssize_t put = ::pwrite(descriptor_, data, size_t(std::min(p.bytes, largest_step)), p.offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return with_errno("writing " + partial_path(), errno);
        p.offset += put;
        p.bytes -= put;
        data += put;
      }
    return "";
  }
  std::string close() override {
    std::string error = ::fsync(descriptor_) != 0 ? with_errno("syncing " + partial_path(), errno) : "";
    if (::close(descriptor_) != 0 && error.empty()) error = with_errno("closing " + partial_path(), errno);
    descriptor_ = -1;
    return error;
  }

 private:
  int descriptor_;
};

class MemoryInputFile final : public InputFile {
 public:
  MemoryInputFile(const std::string& name, const void* data, size_t bytes)
      : InputFile(name, communicator_of_one()), data_{static_cast<const std::byte*>(data)} {
    size_ = int64_t(bytes);
  }

 protected:
  std::string read_merged(const std::vector<Piece>& pieces, std::byte* out) override {
    for (const Piece& p : pieces) {
      std::memcpy(out, data_ + p.offset, size_t(p.bytes));
      out += p.bytes;
    }
    return "";
  }

 private:
  static Communicator& communicator_of_one() {
    static SingleCommunicator communicator;
    return communicator;
  }
  const std::byte* data_;
};

}  // namespace

std::unique_ptr<InputFile> open_posix_input(const std::string& path, int64_t size,
                                            Communicator& communicator) {
  return std::make_unique<PosixInputFile>(path, size, communicator);
}

std::unique_ptr<OutputFile> create_posix_output(const std::string& path, Communicator& communicator) {
  return std::make_unique<PosixOutputFile>(path, communicator);
}

std::unique_ptr<InputFile> memory_input(const std::string& name, const void* data, size_t bytes) {
  return std::make_unique<MemoryInputFile>(name, data, bytes);
}

}  // namespace trellis::io
