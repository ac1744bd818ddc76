#pragma once
/// This file counts how often a program asks for memory, by the forms of new and by the allocation of fields'
/// memory. Memory of C libraries, as MPI's, is not counted. The file replaces functions of the whole program,
/// so its one source includes it.
#include <atomic>
#include <cstdlib>
#include <new>

namespace trellis::test {

inline std::atomic<int> counted_allocations{0};

/// Returns the number of allocations since the program began.
inline int allocations() { return counted_allocations; }

}  // namespace trellis::test

/// The source device/cpu/memory.cpp takes fields from this function.
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  ++trellis::test::counted_allocations;
  void* data = nullptr;
  return posix_memalign(&data, alignment, bytes) == 0 ? data : nullptr;
}

// These are not inline, as the compiler would take them for a new and a free that do not match.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++trellis::test::counted_allocations;
  if (void* data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  if (void* data = aligned_alloc(size_t(alignment), bytes)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, size_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, size_t, std::align_val_t) noexcept { std::free(data); }
