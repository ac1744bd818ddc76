#pragma once
/// These functions ask about the GPU of this process, and have queues beside the main one and page-locked
/// memory. A build without CUDA has these functions too, and they say so.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trellis/base/precision.hpp"

namespace trellis::cuda {

struct Gpu {
  std::string name, capability;  ///< the capability is as in "9.0"
  size_t bytes = 0, available = 0;
};

/// Returns the GPUs that this process sees; there are none in a build without CUDA.
std::vector<Gpu> gpus();
/// Says which of them this process uses: ranks of a node take them in turn.
int gpu_of_this_process();
/// Returns its maker's name and the driver's version: the tuner tells GPUs apart by them. @pre there is one
const std::string& name_of_this_gpu();
/// Says why the cuda backend cannot be used. It is empty if the backend can be used.
std::string why_no_gpu();
/// Throws NotAvailable with that reason.
void require_gpu();
/// Waits for all that was launched.
void synchronize();
/// Measure the seconds that the GPU takes for what this thread launches between the two. The stop waits for
/// it.
void start_launch_timer();
double stop_launch_timer();

/// Copies `rows` rows of `width` bytes each, within the device; rows lie `pitch` bytes apart.
void copy_rows_on_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t rows);

/// This is page-locked host memory, which copies to and from the device need in order to overlap with
/// kernels.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

/// A stream is a queue of launches and copies beside the main one.
class Stream {
 public:
  Stream();
  ~Stream();
  /// Makes what comes here start after what the main queue holds now.
  void follow_main();
  /// Makes what comes to the main queue start after what is here now.
  void precede_main();
  /// Lets the host wait until all that is here is done.
  void wait();
  void copy_to_host(void* host, const void* device, size_t bytes);
  void copy_from_host(void* device, const void* host, size_t bytes);

  /// Launches of this thread go to the stream as long as this lives.
  class Scope {
   public:
    explicit Scope(const Stream& stream);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    void* before_;
  };

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace trellis::cuda
