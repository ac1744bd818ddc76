// threads: 2
/// Owned memory is aligned, zeroed and counted, and it is refused with numbers when there is too little.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "trellis/base/error.hpp"
#include "trellis/device/memory.hpp"

namespace trellis {
namespace in_test_memory {

TEST(Memory, is_zeroed_and_aligned) {
  for (const size_t bytes : {size_t(1), size_t(63), size_t(64), size_t(100000), size_t(5) << 20}) {
    Memory memory(bytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(memory.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    const auto* p = static_cast<const unsigned char*>(memory.data());
    size_t nonzero = 0;
    for (size_t i = 0; i < bytes; ++i) nonzero += p[i] != 0;
    EXPECT_EQ(nonzero, 0u) << bytes << " bytes";
    std::memset(memory.data(), 0xff, bytes);  // this makes it dirty for the next allocation
  }
}

TEST(Memory, of_a_size_that_was_freed_is_zero_again) {
  for (const size_t bytes : {size_t(5000), size_t(5) << 20}) {
    {
      Memory used(bytes);
      std::memset(used.data(), 0xff, bytes);
    }
    Memory again(bytes);
    const auto* p = static_cast<const unsigned char*>(again.data());
    size_t nonzero = 0;
    for (size_t i = 0; i < bytes; ++i) nonzero += p[i] != 0;
    EXPECT_EQ(nonzero, 0u) << bytes << " bytes";
  }
}

TEST(Memory, that_was_freed_waits_for_the_next_of_its_size_and_makes_room_for_others) {
  const size_t mebibyte = size_t(1) << 20, small = 192 * mebibyte, large = 256 * mebibyte;
  { Memory peak(large); }
  void* address;
  {
    Memory used(small);
    address = used.data();
  }
  { EXPECT_EQ(Memory(small).data(), address); }  // it is larger than what always waits
  EXPECT_GE(memory_waiting(), small);
  Memory other(large);
  EXPECT_LE(memory_in_use() + memory_waiting(), std::max(memory_peak(), memory_in_use() + 128 * mebibyte));
  EXPECT_LT(memory_waiting(), small);
}

TEST(Memory, empty_is_legal) {
  Memory none;
  EXPECT_EQ(none.data(), nullptr);
  Memory zero(0);
  EXPECT_EQ(zero.bytes(), 0u);
}

TEST(Memory, is_counted_and_returned) {
  const size_t before = memory_in_use();
  {
    Memory a(1000);
    Memory b(5000);
    EXPECT_EQ(memory_in_use(), before + 6000);
    Memory c(std::move(a));
    EXPECT_EQ(memory_in_use(), before + 6000);
    EXPECT_EQ(a.data(), nullptr);
    EXPECT_EQ(c.bytes(), 1000u);
    b = std::move(c);
    EXPECT_EQ(memory_in_use(), before + 1000);
    EXPECT_EQ(b.bytes(), 1000u);
  }
  EXPECT_EQ(memory_in_use(), before);
  EXPECT_GE(memory_peak(), before + 6000);
}

TEST(Memory, too_much_is_refused_with_both_numbers) {
  const size_t before = memory_in_use(), far_too_much = size_t(1) << 60;
  try {
    Memory memory(far_too_much);
    FAIL() << "an exbibyte";
  } catch (const MemoryError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(far_too_much)), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(memory_in_use(), before);
  EXPECT_THROW(require_memory(far_too_much, "the propagators"), MemoryError);
  EXPECT_NO_THROW(require_memory(1024, "a little"));
  EXPECT_GT(memory_available(), 0u);
}

TEST(Memory, a_missing_backend_says_so) {
#ifndef TRELLIS_WITH_CUDA
  EXPECT_THROW(Memory(64, Backend::cuda), NotAvailable);
#else
  GTEST_SKIP() << "this build has the CUDA backend";
#endif
}

}  // namespace in_test_memory
}  // namespace trellis
