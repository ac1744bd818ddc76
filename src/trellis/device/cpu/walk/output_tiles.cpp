#include "trellis/device/cpu/walk/output_tiles.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "trellis/base/error.hpp"
#include "trellis/device/cpu/stream_copy.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/device/launch_trials.hpp"

namespace trellis {

namespace {

constexpr size_t tile_bytes = size_t(128) << 10;
/// Fields that the caches can hold are not streamed past them.
constexpr size_t smallest_streamed_set = size_t(32) << 20;

/// A tile has so many blocks.
int blocks_of_tile(const TiledField& field) {
  return int(std::max<size_t>(1, tile_bytes / field.block_bytes));
}

/// Returns the end of the tile that begins at entry `begin`; where it is streamed, blocks follow each other.
int end_of_tile(const SiteRange& sites, int begin, int end, int of_tile, bool streams) {
  int last = std::min(end, begin + of_tile);
  if (!streams || !sites.list) return last;
  int next = begin + 1;
  while (next < last && sites.list[next] == sites.list[next - 1] + 1) ++next;
  return next;
}

/// This buffer holds memory for one tile of this thread.
class TileBuffer {
 public:
  char* of(size_t bytes) {
    if (bytes > size_) {
      data_.reset(static_cast<char*>(::operator new(bytes, alignment)));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(char* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

/// Returns an address that becomes `data` when `offset` is added to it.
template <class T>
T* before(T* data, size_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(data) - offset);
}

void stream_tile(const TiledField& out, const SiteRange& tile, const TileStep& step) {
  thread_local TileBuffer buffer;
  const size_t first = size_t(tile.list ? tile.list[tile.begin] : tile.begin), count = size_t(tile.size());
  const size_t most = size_t(blocks_of_tile(out));
  char* const data = buffer.of((out.block_bytes + out.scale_bytes) * most);
  char* const scales = data + out.block_bytes * most;
  RawField near = out.raw;
  near.data = before(data, first * out.block_bytes);
  if (out.raw.scale) near.scale = before(reinterpret_cast<float*>(scales), first * out.scale_bytes);
  step(tile, near);
  cpu::stream_copy(static_cast<char*>(out.raw.data) + first * out.block_bytes, data, count * out.block_bytes);
  if (out.raw.scale)
    std::memcpy(reinterpret_cast<char*>(out.raw.scale) + first * out.scale_bytes, scales,
                count * out.scale_bytes);
}

bool can_stream(const TiledField& out) { return cpu::can_stream(out.raw.data, out.block_bytes); }

}  // namespace

void walk_in_tiles(const TiledField& out, const SiteRange& sites, TileOutput output, const TileStep& step) {
  count_launches();
  if (sites.size() == 0) return;
  const int of_tile = blocks_of_tile(out);
  const bool streams = output == TileOutput::streamed;
  TRELLIS_REQUIRE(!streams || can_stream(out), "output cannot be streamed in blocks of ", out.block_bytes,
                  " bytes: expected whole cache lines");
  cpu::on_threads([&](int64_t thread, int64_t threads) {
    const PartOfLaunch part;
    const int end = sites.begin + int(sites.size() * (thread + 1) / threads);
    SiteRange tile = sites;
    for (tile.begin = sites.begin + int(sites.size() * thread / threads); tile.begin < end;
         tile.begin = tile.end) {
      tile.end = end_of_tile(sites, tile.begin, end, of_tile, streams);
      streams ? stream_tile(out, tile, step) : step(tile, out.raw);
    }
    if (streams) cpu::finish_streams();
  });
}

void walk_in_faster_tiles(const TiledField& out, const SiteRange& sites, bool rereads, OutputUse use,
                          size_t working_set, const TileStep& step) {
  const auto in_place = [&] {
    rereads ? walk_in_tiles(out, sites, TileOutput::in_place, step) : step(sites, out.raw);
  };
  if (use == OutputUse::soon || working_set < smallest_streamed_set || sites.size() == 0 || !can_stream(out))
    return in_place();
  using Trials = LaunchTrials;
  thread_local Trials trials[2][2] = {
      {Trials(2, "output of a field"), Trials(2, "output of a part of a field")},
      {Trials(2, "output that is read"), Trials(2, "output of a part that is read")}};
  const bool is_part = sites.size() < out.blocks;
  const LaunchSubject subject{working_set, out.geometry, out.raw.slots, out.storage};
  trials[rereads][is_part].launch(subject, sites.size(), [&](int way) {
    way == 1 ? walk_in_tiles(out, sites, TileOutput::streamed, step) : in_place();
  });
}

}  // namespace trellis
