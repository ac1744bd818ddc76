#pragma once
/// The tuner knows which way of doing the same work is fastest, as trials found in this process or an earlier
/// one.
///
/// It chooses among ways that give the same bits, so no result depends on it. It knows no files: who keeps a
/// cache fills the tuner before a run and takes the records after it (python/trellis/ground/tuning.py), and
/// hands rank 0's records to all ranks.
#include <atomic>
#include <compare>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace trellis {

/// With `off` the default way is taken, without trials. With `read` it is the cached way, else trials whose
/// results die with the process decide. With `on` the same happens, and the results are recorded.
enum class TuneMode { off, read, on };
const char* name_of(TuneMode mode);
/// Takes "off", "read" and "on"; throws BadArgument with these for others.
TuneMode tune_mode_by_name(const std::string& name);

/// A choice holds for this key, on one machine and in one build of the kernels.
struct TuneKey {
  std::string kernel;        ///< it includes the layout and the links, where the kernel is a template
  std::string storage;       ///< its fields have it: "double", "float", "half", "fp16"
  std::string lattice, cut;  ///< "8x8x8x16", and the process grid; both are empty where unknown
  int columns = 1, threads = 1;
  int working_set_bits =
      0;  ///< bits of the bytes that it works on: parts of a lattice have choices of their own
  auto operator<=>(const TuneKey&) const = default;
};

struct TunedChoice {
  int way = 0;
  double seconds = 0;  ///< a launch took at least so long for a block of sites, or a halo for an exchange
  int repeats = 0;     ///< the choice was tried again so often because it had become slower
};

/// A way from the cache that takes so much longer than its record is tried again.
inline constexpr double too_slow = 1.1;

/// Returns whether a is better: a choice that was tried again replaces older ones; otherwise the faster one
/// stays.
bool is_better(const TunedChoice& a, const TunedChoice& b);

class Tuner {
 public:
  /// @param mode is that of a process whose environment does not say
  explicit Tuner(TuneMode mode = TuneMode::read) : mode_{mode} {}

  TuneMode mode() const { return mode_.load(std::memory_order_relaxed); }
  void set_mode(TuneMode mode) { mode_.store(mode, std::memory_order_relaxed); }

  bool is_empty() const { return size_.load(std::memory_order_relaxed) == 0; }
  std::optional<TunedChoice> find(const TuneKey& key) const;
  /// Takes a choice from a cache, or from rank 0; a better choice that is there already stays.
  void fill(const TuneKey& key, const TunedChoice& choice);
  /// Takes a choice from a trial of this process; a better choice that is there already stays.
  void record(const TuneKey& key, const TunedChoice& choice);
  /// Returns what this process recorded since the last call.
  std::map<TuneKey, TunedChoice> take_records();

 private:
  bool keep(const TuneKey& key, const TunedChoice& choice);

  std::atomic<TuneMode> mode_;
  std::atomic<size_t> size_{0};
  mutable std::mutex mutex_;
  std::map<TuneKey, TunedChoice> choices_, records_;
};

/// Returns the tuner of this process. Its mode is that of the environment variable TRELLIS_TUNE, or `read`.
/// Throws BadArgument where TRELLIS_TUNE is another word.
Tuner& tuner();

/// Returns a hash of the sources, compiler and flags of all kernels: choices of another build do not hold.
const char* kernel_source_hash();

}  // namespace trellis
