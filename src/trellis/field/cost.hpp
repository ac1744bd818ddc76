#pragma once
/// A cost says what work takes: operations, bytes, messages, global sums and launches of kernels.
#include <cstdint>
#include <vector>

#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// A rank sends this message to its neighbour in the direction mu, forwards (step = 1) or backwards (-1).
struct SentMessage {
  int mu, step;
  double bytes;
  int64_t count = 1;  ///< so many have this size

  bool operator==(const SentMessage&) const = default;
};

struct Cost {
  double flops = 0;               ///< all ranks together have so many
  double conventional_flops = 0;  ///< all ranks have so many as papers count, where that is another number
  double bytes = 0;               ///< the bytes of all ranks that must move
  std::vector<SentMessage> messages;  ///< they are those of one rank; all ranks send the same
  int64_t sums = 0;                   ///< global reductions count here
  int64_t launches = 0;               ///< kernels on one rank count here (device/launch_count.hpp)

  Cost& operator+=(const Cost& other);
  /// Returns the cost of so many times this work.
  Cost& operator*=(int64_t times);
  void add_message(const SentMessage& message);
  int64_t message_count() const;  ///< counts those of one rank
  double message_bytes() const;   ///< counts those of one rank
};

/// Returns the cost of flops that papers count as we do, and of bytes that must move.
inline Cost cost_of(double flops, double bytes) { return {flops, flops, bytes, {}, 0, 0}; }
inline Cost operator+(Cost a, const Cost& b) { return a += b; }
inline Cost operator*(int64_t times, Cost cost) { return cost *= times; }

/// Returns the cost of passes over fields of this kind: they take `fields` reads and writes of one, and
/// `flops_per_real` operations on each of its reals, in so many launches for each parity, with so many global
/// sums.
Cost cost_of_passes(const Lattice& lattice, const FieldSpec& spec, double fields, double flops_per_real,
                    int launches, int sums);

}  // namespace trellis
