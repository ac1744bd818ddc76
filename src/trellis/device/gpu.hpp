#pragma once
/// The GPU of this process: whether there is one, queues beside the main one, page-locked memory. A build
/// without CUDA has these functions too, and they say so.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trellis/base/precision.hpp"

namespace trellis::cuda {

struct Gpu {
  std::string name, capability;  ///< capability as in "9.0"
  size_t bytes = 0, available = 0;
};

/// GPUs that this process sees; none in a build without CUDA.
std::vector<Gpu> gpus();
/// Which of them it uses: ranks of a node take them in turn.
int gpu_of_this_process();
/// Its maker's name and the driver's version: the tuner tells GPUs apart by them. @pre there is one
const std::string& name_of_this_gpu();
/// Empty if the cuda backend can be used, else why not.
std::string why_no_gpu();
/// Throws NotAvailable with that reason.
void require_gpu();
/// Waits for all that was launched.
void synchronize();
/// The seconds that the GPU takes for what this thread launches between the two. The stop waits for it.
void start_launch_timer();
double stop_launch_timer();

/// `rows` rows of `width` bytes each, within the device; rows lie `pitch` bytes apart.
void copy_rows_on_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t rows);

/// Page-locked host memory, which copies to and from the device need in order to overlap with kernels.
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

/// A queue of launches and copies beside the main one.
class Stream {
 public:
  Stream();
  ~Stream();
  /// What comes here starts after what the main queue holds now.
  void follow_main();
  /// What comes to the main queue starts after what is here now.
  void precede_main();
  /// The host waits until all that is here is done.
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
