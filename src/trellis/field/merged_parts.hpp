#pragma once
/// This file says which parts of a halo travel together: those between the same two ranks are one message.
#include <cstddef>
#include <vector>

namespace trellis {

class Geometry;
struct Cost;
struct SentMessage;

/// This is a part of a halo as one of its two ranks sees it.
struct HaloPart {
  int peer;  ///< it is the other rank
  int tag;   ///< both ranks give a part the same
  size_t bytes;
};

struct MergedParts {
  struct Place {
    int message;
    size_t offset;  ///< it is a multiple of 64
  };
  std::vector<Place> places;       ///< each part has one
  std::vector<HaloPart> messages;  ///< each has the tag of its first part
};

/// Merges parts: those with the same peer lie in one message, in the order of their tags, so that both ranks
/// see the same messages. A message costs its latency however long it is. A direction with two ranks has two
/// such parts, and hops over one and three sites have two for each neighbour.
MergedParts merge_parts(const std::vector<HaloPart>& parts);

/// Adds the messages to which parts of a halo are merged that go to these neighbours.
void add_merged(Cost& cost, const Geometry& geometry, const std::vector<SentMessage>& parts);

}  // namespace trellis
