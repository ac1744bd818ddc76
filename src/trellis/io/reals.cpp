#include "trellis/io/reals.hpp"

#include <bit>
#include <cstring>

namespace trellis::io {

namespace {
constexpr bool must_swap(ByteOrder order) {
  return (order == ByteOrder::big) != (std::endian::native == std::endian::big);
}
uint32_t swapped(uint32_t x) { return __builtin_bswap32(x); }
uint64_t swapped(uint64_t x) { return __builtin_bswap64(x); }

template <class Word>
Word load(const std::byte* in, ByteOrder order) {
  Word word;
  std::memcpy(&word, in, sizeof word);
  return must_swap(order) ? swapped(word) : word;
}
template <class Word>
void store(std::byte* out, Word word, ByteOrder order) {
  if (must_swap(order)) word = swapped(word);
  std::memcpy(out, &word, sizeof word);
}
}  // namespace

uint32_t load_u32(const std::byte* in, ByteOrder order) { return load<uint32_t>(in, order); }
uint64_t load_u64(const std::byte* in, ByteOrder order) { return load<uint64_t>(in, order); }
void store_u32(std::byte* out, uint32_t value, ByteOrder order) { store(out, value, order); }
void store_u64(std::byte* out, uint64_t value, ByteOrder order) { store(out, value, order); }
double load_f64(const std::byte* in, ByteOrder order) { return std::bit_cast<double>(load_u64(in, order)); }
void store_f64(std::byte* out, double value, ByteOrder order) {
  store_u64(out, std::bit_cast<uint64_t>(value), order);
}

void decode_reals(const std::byte* in, double* out, size_t n, RealFormat format) {
  if (format.bits == 64)
    for (size_t i = 0; i < n; ++i) out[i] = load_f64(in + 8 * i, format.order);
  else
    for (size_t i = 0; i < n; ++i) out[i] = double(std::bit_cast<float>(load_u32(in + 4 * i, format.order)));
}

void encode_reals(const double* in, std::byte* out, size_t n, RealFormat format) {
  if (format.bits == 64)
    for (size_t i = 0; i < n; ++i) store_f64(out + 8 * i, in[i], format.order);
  else
    for (size_t i = 0; i < n; ++i)
      store_u32(out + 4 * i, std::bit_cast<uint32_t>(float(in[i])), format.order);
}

}  // namespace trellis::io
