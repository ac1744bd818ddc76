#include "trellis/io/checksums.hpp"

#include <zlib.h>

#include <bit>
#include <cmath>

namespace trellis::io {

namespace {
void exclusive_or_over_ranks(uint32_t* sums, Communicator& communicator) {
  unsigned values[2] = {sums[0], sums[1]};
  communicator.exclusive_or(values, 2);
  sums[0] = values[0];
  sums[1] = values[1];
}
}  // namespace

void ScidacChecksum::add(const std::byte* site, size_t bytes, int64_t global_index) {
  const uint32_t crc = uint32_t(::crc32(0L, reinterpret_cast<const Bytef*>(site), uInt(bytes)));
  sums_[0] ^= std::rotl(crc, int(global_index % 29));
  sums_[1] ^= std::rotl(crc, int(global_index % 31));
}

void ScidacChecksum::merge(Communicator& communicator) { exclusive_or_over_ranks(sums_, communicator); }

void NerscChecksum::add(const std::byte* data, size_t bytes, ByteOrder order) {
  for (size_t i = 0; i + 4 <= bytes; i += 4) sum_ += load_u32(data + i, order);
}

void NerscChecksum::merge(Communicator& communicator) {
  ExactSum sum;  // it is exact: its integers are below 2^32
  sum.add(double(sum_));
  communicator.sum(&sum, 1);
  sum_ = uint32_t(std::fmod(sum.value(), 4294967296.0));
}

void MilcChecksum::add(const std::byte* data, size_t bytes, int64_t first_word, ByteOrder order) {
  int k29 = int(first_word % 29), k31 = int(first_word % 31);
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    const uint32_t word = load_u32(data + i, order);
    sums_[0] ^= std::rotl(word, k29);
    sums_[1] ^= std::rotl(word, k31);
    if (++k29 == 29) k29 = 0;
    if (++k31 == 31) k31 = 0;
  }
}

void MilcChecksum::merge(Communicator& communicator) { exclusive_or_over_ranks(sums_, communicator); }

}  // namespace trellis::io
