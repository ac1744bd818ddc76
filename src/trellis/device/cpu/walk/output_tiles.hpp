#pragma once
/// Several steps pass over a field of the CPU backend, tile by tile: what one step has written is in the
/// cache when the next one takes it.
///
/// Where a field leaves the caches, each of its lines is read before it is written, only to be overwritten.
/// Then the steps can work on a buffer of one tile that stays in the cache, and finished tiles are streamed
/// out. Whether that is faster depends on what else the caches hold, and a trial decides
/// (device/launch_trials.hpp); the bits are the same.
#include <functional>

#include "trellis/device/site_range.hpp"
#include "trellis/view/site_array.hpp"

namespace trellis {

class Geometry;

/// Passes that write a field block by block see it like this. It is of one parity and on the CPU.
struct TiledField {
  RawField raw;
  size_t block_bytes, scale_bytes;  ///< a block has so many, and its scales
  int blocks;                       ///< the whole field has so many
  const Geometry* geometry;
  const char* storage;
};

/// A step works on the sites of a tile; `out` is where their output lies, by the number of the block as ever.
using TileStep = std::function<void(const SiteRange& tile, const RawField& out)>;

enum class TileOutput { in_place, streamed };

/// Calls step() for each tile of the sites, all threads having their shares.
/// @throws BadArgument where a field is streamed whose blocks do not fill cache lines
void walk_in_tiles(const TiledField& out, const SiteRange& sites, TileOutput output, const TileStep& step);

/// The use says whether what is written is taken again while it is still in a cache: it is not streamed then.
enum class OutputUse { later, soon };

/// Does the same in the way that is faster; step() has all sites at once where nothing is gained by tiles, or
/// where launches cannot be cut. Parts of a field have a trial of their own, apart from whole ones.
/// @param rereads says whether step() reads what it wrote
/// @param working_set is the bytes of all fields concerned, on this rank
void walk_in_faster_tiles(const TiledField& out, const SiteRange& sites, bool rereads, OutputUse use,
                          size_t working_set, const TileStep& step);

}  // namespace trellis
