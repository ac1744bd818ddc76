#pragma once
/// Files store floating-point numbers in this way: 32 or 64 bits, either byte order.
#include <cstddef>
#include <cstdint>

namespace trellis::io {

enum class ByteOrder { big, little };

struct RealFormat {
  int bits = 64;  ///< there are 32 or 64
  ByteOrder order = ByteOrder::big;
  size_t bytes() const { return size_t(bits) / 8; }
};

uint32_t load_u32(const std::byte* in, ByteOrder order);
uint64_t load_u64(const std::byte* in, ByteOrder order);
void store_u32(std::byte* out, uint32_t value, ByteOrder order);
void store_u64(std::byte* out, uint64_t value, ByteOrder order);
double load_f64(const std::byte* in, ByteOrder order);
void store_f64(std::byte* out, double value, ByteOrder order);

/// Sets out[i] = the i-th of n numbers at `in`; 32-bit numbers are widened, exactly.
void decode_reals(const std::byte* in, double* out, size_t n, RealFormat format);
/// Does the inverse; to 32 bits it rounds to nearest.
void encode_reals(const double* in, std::byte* out, size_t n, RealFormat format);

}  // namespace trellis::io
