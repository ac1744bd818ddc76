#pragma once
/// These copies leave no trace in the caches: lines are written whole, without being read before.
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trellis::cpu {

inline constexpr size_t streamed_line = 64;

inline bool can_stream(const void* to, size_t bytes) {
  return reinterpret_cast<uintptr_t>(to) % streamed_line == 0 && bytes % streamed_line == 0;
}

/// Copies whole lines, and does so plainly on processors that have no such stores. Other threads see them
/// after finish_streams().
/// @pre can_stream(to, bytes); from is aligned likewise
inline void stream_copy(void* to, const void* from, size_t bytes) {
#if defined(__AVX512F__)
  for (size_t i = 0; i < bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(static_cast<char*>(to) + i),
                        _mm512_load_si512(static_cast<const char*>(from) + i));
#elif defined(__AVX__)
  for (size_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256(
        reinterpret_cast<__m256i*>(static_cast<char*>(to) + i),
        _mm256_load_si256(reinterpret_cast<const __m256i*>(static_cast<const char*>(from) + i)));
#elif defined(__x86_64__)
  for (size_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(static_cast<char*>(to) + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(static_cast<const char*>(from) + i)));
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Orders this thread's streamed stores before its later ones.
inline void finish_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace trellis::cpu
