#include "trellis/operator/output_tiles.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "trellis/base/error.hpp"
#include "trellis/device/cpu/stream_copy.hpp"
#include "trellis/device/cpu/thread_team.hpp"
#include "trellis/device/cpu/walk_trial.hpp"
#include "trellis/device/launch_count.hpp"

namespace trellis {

namespace {

constexpr size_t tile_bytes = size_t(128) << 10;
/// Fields that the caches can hold are not streamed past them.
constexpr size_t smallest_streamed_set = size_t(32) << 20;

/// How blocks of a field of one parity lie in memory.
struct Blocks {
  size_t bytes, scale_bytes;
  int of_tile;

  explicit Blocks(const SpinorField& field)
      : bytes{size_t(field.slots() * field.reals() * field.layout().lanes()) *
              element_bytes(field.precision())},
        scale_bytes{size_t(field.slots() * field.layout().lanes()) * trellis::scale_bytes(field.precision())},
        of_tile{int(std::max<size_t>(1, tile_bytes / bytes))} {}
};

/// The end of the tile that begins at entry `begin`; where it is streamed, blocks follow each other.
int end_of_tile(const SiteRange& sites, int begin, int end, int of_tile, bool streams) {
  int last = std::min(end, begin + of_tile);
  if (!streams || !sites.list) return last;
  int next = begin + 1;
  while (next < last && sites.list[next] == sites.list[next - 1] + 1) ++next;
  return next;
}

/// Memory for one tile of this thread.
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

/// An address that becomes `data` when `offset` is added to it.
template <class T>
T* before(T* data, size_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(data) - offset);
}

void stream_tile(const RawField& out, const Blocks& blocks, const SiteRange& tile, const TileStep& step) {
  thread_local TileBuffer buffer;
  const size_t first = size_t(tile.list ? tile.list[tile.begin] : tile.begin), count = size_t(tile.size());
  char* const data = buffer.of((blocks.bytes + blocks.scale_bytes) * size_t(blocks.of_tile));
  char* const scales = data + blocks.bytes * size_t(blocks.of_tile);
  RawField near = out;
  near.data = before(data, first * blocks.bytes);
  if (out.scale) near.scale = before(reinterpret_cast<float*>(scales), first * blocks.scale_bytes);
  step(tile, near);
  cpu::stream_copy(static_cast<char*>(out.data) + first * blocks.bytes, data, count * blocks.bytes);
  if (out.scale)
    std::memcpy(reinterpret_cast<char*>(out.scale) + first * blocks.scale_bytes, scales,
                count * blocks.scale_bytes);
}

bool can_stream(const RawField& out, const Blocks& blocks) { return cpu::can_stream(out.data, blocks.bytes); }

}  // namespace

void walk_in_tiles(const SpinorField& out, int parity, const SiteRange& sites, TileOutput output,
                   const TileStep& step) {
  count_launches();
  if (sites.size() == 0) return;
  const RawField raw = out.raw(parity);
  const Blocks blocks(out);
  const bool streams = output == TileOutput::streamed;
  TRELLIS_REQUIRE(!streams || can_stream(raw, blocks), "output cannot be streamed in blocks of ",
                  blocks.bytes, " bytes: expected whole cache lines");
  cpu::on_threads([&](int64_t thread, int64_t threads) {
    const PartOfLaunch part;
    const int end = sites.begin + int(sites.size() * (thread + 1) / threads);
    SiteRange tile = sites;
    for (tile.begin = sites.begin + int(sites.size() * thread / threads); tile.begin < end;
         tile.begin = tile.end) {
      tile.end = end_of_tile(sites, tile.begin, end, blocks.of_tile, streams);
      streams ? stream_tile(raw, blocks, tile, step) : step(tile, raw);
    }
    if (streams) cpu::finish_streams();
  });
}

void walk_in_faster_tiles(const SpinorField& out, int parity, const SiteRange& sites, bool rereads,
                          OutputUse use, size_t working_set, const TileStep& step) {
  const auto in_place = [&] {
    rereads ? walk_in_tiles(out, parity, sites, TileOutput::in_place, step) : step(sites, out.raw(parity));
  };
  if (use == OutputUse::soon || working_set < smallest_streamed_set || sites.size() == 0 ||
      !can_stream(out.raw(parity), Blocks(out)))
    return in_place();
  thread_local cpu::WalkTrials trials[2][2];
  const bool is_part = sites.size() < out.layout().blocks();
  cpu::WalkTrial& trial = trials[rereads][is_part].of(working_set);
  trial.time(sites.size(), [&] {
    trial.takes_second() ? walk_in_tiles(out, parity, sites, TileOutput::streamed, step) : in_place();
  });
}

}  // namespace trellis
