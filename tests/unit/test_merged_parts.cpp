/// Parts of a halo between the same two ranks are one message, and both ranks see the same one.
#include <gtest/gtest.h>

#include "trellis/field/cost.hpp"
#include "trellis/field/merged_parts.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis {
namespace in_test_merged_parts {

TEST(MergedParts, parts_of_a_peer_lie_one_behind_the_other) {
  const MergedParts merged = merge_parts({{3, 1, 100}, {5, 2, 64}, {3, 0, 7}, {3, 9, 1}});
  ASSERT_EQ(merged.messages.size(), 2u);
  EXPECT_EQ(merged.messages[0].peer, 3);
  EXPECT_EQ(merged.messages[0].tag, 0) << "of its first part";
  EXPECT_EQ(merged.messages[0].bytes, 64u + 128u + 1u);
  EXPECT_EQ(merged.messages[1].peer, 5);
  EXPECT_EQ(merged.messages[1].bytes, 64u) << "alone it is as long as it was";
  const auto place = [&](size_t part) {
    return std::pair(merged.places[part].message, merged.places[part].offset);
  };
  EXPECT_EQ(place(2), std::pair(0, size_t(0)));
  EXPECT_EQ(place(0), std::pair(0, size_t(64)));
  EXPECT_EQ(place(3), std::pair(0, size_t(192)));
  EXPECT_EQ(place(1), std::pair(1, size_t(0)));
}

/// Both ranks add the parts in their own order.
TEST(MergedParts, both_ends_see_the_same_message) {
  const MergedParts a = merge_parts({{1, 4, 10}, {1, 6, 20}, {1, 5, 30}});
  const MergedParts b = merge_parts({{0, 6, 20}, {0, 5, 30}, {0, 4, 10}});
  ASSERT_EQ(a.messages.size(), 1u);
  ASSERT_EQ(b.messages.size(), 1u);
  EXPECT_EQ(a.messages[0].tag, b.messages[0].tag);
  EXPECT_EQ(a.messages[0].bytes, b.messages[0].bytes);
  EXPECT_EQ(a.places[0].offset, b.places[2].offset);
  EXPECT_EQ(a.places[1].offset, b.places[0].offset);
  EXPECT_EQ(a.places[2].offset, b.places[1].offset);
}

TEST(MergedParts, no_message_is_longer_than_mpi_counts) {
  const size_t large = size_t(3) << 28;
  const MergedParts merged = merge_parts({{1, 0, large}, {1, 1, large}, {1, 2, 5}});
  ASSERT_EQ(merged.messages.size(), 2u);
  EXPECT_EQ(merged.messages[0].bytes, large);
  EXPECT_EQ(merged.messages[1].bytes, large + 5) << "three quarters of the limit and five bytes";
  EXPECT_EQ(merged.messages[1].tag, 1);
  EXPECT_EQ(merge_parts({}).messages.size(), 0u);
}

TEST(MergedParts, costs_count_directions_with_two_ranks_once) {
  const std::vector<SentMessage> parts{{0, -1, 100}, {0, 1, 60}, {2, -1, 40}, {2, 1, 40}};
  Cost two, four;
  add_merged(two, Geometry({8, 4, 8, 4}, ProcessGrid({2, 1, 2, 1})), parts);
  EXPECT_EQ(two.messages, (std::vector<SentMessage>{{0, -1, 188}, {2, -1, 104}}));
  add_merged(four, Geometry({16, 4, 8, 4}, ProcessGrid({4, 1, 2, 1})), parts);
  EXPECT_EQ(four.messages, (std::vector<SentMessage>{{0, -1, 100}, {0, 1, 60}, {2, -1, 104}}));
}

}  // namespace in_test_merged_parts
}  // namespace trellis
