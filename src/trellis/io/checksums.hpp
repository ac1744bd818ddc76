#pragma once
/// This file has the checksums of the field's file formats. Each is a sum over sites that does not depend on
/// their order, so every rank adds its own sites and merge() joins them.
#include <cstddef>
#include <cstdint>

#include "trellis/comm/communicator.hpp"
#include "trellis/io/reals.hpp"

namespace trellis::io {

/// The checksum of SciDAC (QIO) is, with r the lexicographic index of a site and c the CRC-32 of its bytes as
/// stored,
///   a = xor_r rotl(c, r mod 29),  b = xor_r rotl(c, r mod 31).
class ScidacChecksum {
 public:
  void add(const std::byte* site, size_t bytes, int64_t global_index);
  void merge(Communicator& communicator);  ///< it is called once; collective
  uint32_t a() const { return sums_[0]; }
  uint32_t b() const { return sums_[1]; }

 private:
  uint32_t sums_[2] = {0, 0};
};

/// The checksum of the NERSC archive is the sum, modulo 2^32, of all 32-bit words of the data.
class NerscChecksum {
 public:
  void add(const std::byte* data, size_t bytes, ByteOrder order);
  void merge(Communicator& communicator);
  uint32_t value() const { return sum_; }

 private:
  uint32_t sum_ = 0;
};

/// The checksums of MILC are, with k the index of a 32-bit word w in the file's data,
///   sum29 = xor_k rotl(w, k mod 29),  sum31 = xor_k rotl(w, k mod 31).
class MilcChecksum {
 public:
  /// first_word is the index in the data of the first of these words.
  void add(const std::byte* data, size_t bytes, int64_t first_word, ByteOrder order);
  void merge(Communicator& communicator);
  uint32_t sum29() const { return sums_[0]; }
  uint32_t sum31() const { return sums_[1]; }

 private:
  uint32_t sums_[2] = {0, 0};
};

}  // namespace trellis::io
