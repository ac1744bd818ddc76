#pragma once
/// Loads and stores move several stored numbers at once, as GPUs move them best: 16 bytes a thread where a
/// site has so many left, 8, 4 or 2 where it has fewer. They are written as machine instructions, for
/// compilers split a load through a cast pointer into loads of single numbers again. On the host they copy
/// bytes, and an address that a GPU could not load from is an error.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trellis/algebra/float16.hpp"
#include "trellis/view/layout.hpp"
#if !defined(__CUDACC__)
#include "trellis/base/error.hpp"
#endif

namespace trellis {

/// A load may assume this of the numbers that it reads.
enum class Access {
  constant,  ///< no thread writes them while the kernel runs: loads of the same address become one
  in_place   ///< the kernel may write them: loads and stores keep their order
};

namespace detail {
#if defined(__CUDA_ARCH__)
template <Access access>
__device__ __forceinline__ void read_words(const void* p, uint32_t (&w)[4]) {
  if constexpr (access == Access::constant)
    asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
        : "l"(p));
  else
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(p)
                 : "memory");
}
template <Access access>
__device__ __forceinline__ void read_words(const void* p, uint32_t (&w)[2]) {
  if constexpr (access == Access::constant)
    asm("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p));
  else
    asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p) : "memory");
}
template <Access access>
__device__ __forceinline__ void read_words(const void* p, uint32_t (&w)[1]) {
  if constexpr (access == Access::constant)
    asm("ld.global.nc.b32 %0, [%1];" : "=r"(w[0]) : "l"(p));
  else
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(w[0]) : "l"(p) : "memory");
}
template <Access access>
__device__ __forceinline__ void read_words(const void* p, uint64_t (&w)[2]) {
  if constexpr (access == Access::constant)
    asm("ld.global.nc.v2.b64 {%0, %1}, [%2];" : "=l"(w[0]), "=l"(w[1]) : "l"(p));
  else
    asm volatile("ld.global.v2.b64 {%0, %1}, [%2];" : "=l"(w[0]), "=l"(w[1]) : "l"(p) : "memory");
}
template <Access access>
__device__ __forceinline__ void read_words(const void* p, uint64_t (&w)[1]) {
  if constexpr (access == Access::constant)
    asm("ld.global.nc.b64 %0, [%1];" : "=l"(w[0]) : "l"(p));
  else
    asm volatile("ld.global.b64 %0, [%1];" : "=l"(w[0]) : "l"(p) : "memory");
}
template <Access access>
__device__ __forceinline__ void read_words(const void* p, uint16_t (&w)[1]) {
  if constexpr (access == Access::constant)
    asm("ld.global.nc.b16 %0, [%1];" : "=h"(w[0]) : "l"(p));
  else
    asm volatile("ld.global.b16 %0, [%1];" : "=h"(w[0]) : "l"(p) : "memory");
}

__device__ __forceinline__ void write_words(void* p, const uint32_t (&w)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
               : "memory");
}
__device__ __forceinline__ void write_words(void* p, const uint32_t (&w)[2]) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(p), "r"(w[0]), "r"(w[1]) : "memory");
}
__device__ __forceinline__ void write_words(void* p, const uint32_t (&w)[1]) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(w[0]) : "memory");
}
__device__ __forceinline__ void write_words(void* p, const uint64_t (&w)[2]) {
  asm volatile("st.global.v2.b64 [%0], {%1, %2};" ::"l"(p), "l"(w[0]), "l"(w[1]) : "memory");
}
__device__ __forceinline__ void write_words(void* p, const uint64_t (&w)[1]) {
  asm volatile("st.global.b64 [%0], %1;" ::"l"(p), "l"(w[0]) : "memory");
}
__device__ __forceinline__ void write_words(void* p, const uint16_t (&w)[1]) {
  asm volatile("st.global.b16 [%0], %1;" ::"l"(p), "h"(w[0]) : "memory");
}
#else
#if !defined(__CUDACC__)
[[gnu::noinline]] inline void throw_misaligned(const void* p, size_t bytes) {
  throw Error(message("address ", p, " of a vector load or store of a GPU; expected a multiple of its ",
                      bytes, " bytes"));
}
#endif
TRELLIS_SITE_FN void require_alignment([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#if !defined(__CUDACC__)
  if (reinterpret_cast<uintptr_t>(p) % bytes != 0) throw_misaligned(p, bytes);
#endif
}
template <Access, class Word, int count>
TRELLIS_SITE_FN void read_words(const void* p, Word (&w)[count]) {
  require_alignment(p, sizeof(w));
  memcpy(w, p, sizeof(w));
}
template <class Word, int count>
TRELLIS_SITE_FN void write_words(void* p, const Word (&w)[count]) {
  require_alignment(p, sizeof(w));
  memcpy(p, w, sizeof(w));
}
#endif

template <class To, class From>
TRELLIS_SITE_FN To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
}  // namespace detail

/// One load or store moves this power of two of stored numbers, at most 16 bytes.
template <class Element, int length>
class ElementVector {
 public:
  static constexpr int bytes = length * int(sizeof(Element));
  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);

  ElementVector() = default;
  /// @pre `p` is a multiple of `bytes`
  template <Access access>
  TRELLIS_SITE_FN static ElementVector load(const Element* p) {
    ElementVector v;
    detail::read_words<access>(p, v.words_);
    return v;
  }
  /// @pre `p` is a multiple of `bytes`
  TRELLIS_SITE_FN void store(Element* p) const { detail::write_words(p, words_); }

  template <int i>
  TRELLIS_SITE_FN Element get() const {
    static_assert(i >= 0 && i < length);
    if constexpr (sizeof(Element) == sizeof(Word))
      return detail::same_bits<Element>(words_[i]);
    else
      return detail::same_bits<Element>(uint16_t(words_[i / 2] >> (16 * (i % 2))));
  }
  /// Sets element i. @pre of 16-bit elements, those before i are set already
  template <int i>
  TRELLIS_SITE_FN void set(const Element& x) {
    static_assert(i >= 0 && i < length);
    if constexpr (sizeof(Element) == sizeof(Word))
      words_[i] = detail::same_bits<Word>(x);
    else if constexpr (i % 2 == 0)
      words_[i / 2] = detail::same_bits<uint16_t>(x);
    else
      words_[i / 2] |= uint32_t(detail::same_bits<uint16_t>(x)) << 16;
  }
  /// Returns elements 2 k and 2 k + 1 of 16 bits as one word, the first below.
  template <int k>
  TRELLIS_SITE_FN uint32_t pair() const {
    static_assert(sizeof(Element) == 2 && k >= 0 && 2 * k + 1 < length);
    return words_[k];
  }
  template <int k>
  TRELLIS_SITE_FN void set_pair(uint32_t pair) {
    static_assert(sizeof(Element) == 2 && k >= 0 && 2 * k + 1 < length);
    words_[k] = pair;
  }

 private:
  using Word =
      std::conditional_t<sizeof(Element) == 8, uint64_t, std::conditional_t<bytes == 2, uint16_t, uint32_t>>;
  Word words_[bytes / sizeof(Word)];
};

/// Returns the entry of a leg in a table of eight legs a block, [block][leg]; GPUs read it with its
/// neighbours, `legs` (2 or 4) together.
template <class Layout, int legs = 2>
TRELLIS_SITE_FN int32_t table_entry(const int32_t* table, int block, int leg) {
  static_assert(legs == 2 || legs == 4);
  const int32_t* const of_block = table + size_t(block) * 8;
  if constexpr (std::is_base_of_v<GpuLayout, Layout>) {
    const unsigned place = unsigned(leg) % unsigned(legs);
    const auto v =
        ElementVector<int32_t, legs>::template load<Access::constant>(of_block + (leg - int(place)));
    const int32_t first = place % 2 == 0 ? v.template get<0>() : v.template get<1>();
    if constexpr (legs == 2) return first;
    const int32_t second = place % 2 == 0 ? v.template get<legs - 2>() : v.template get<legs - 1>();
    return place < 2 ? first : second;
  } else {
    return of_block[leg];
  }
}

}  // namespace trellis
