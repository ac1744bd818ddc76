#include "trellis/field/cost.hpp"

#include <algorithm>

namespace trellis {

void Cost::add_message(const SentMessage& message) {
  const auto same = std::find_if(messages.begin(), messages.end(), [&](const SentMessage& m) {
    return m.mu == message.mu && m.step == message.step && m.bytes == message.bytes;
  });
  if (same == messages.end())
    messages.push_back(message);
  else
    same->count += message.count;
}

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  conventional_flops += other.conventional_flops;
  bytes += other.bytes;
  sums += other.sums;
  launches += other.launches;
  for (size_t i = 0, n = other.messages.size(); i < n; ++i) add_message(SentMessage(other.messages[i]));
  return *this;
}

Cost& Cost::operator*=(int64_t times) {
  flops *= double(times);
  conventional_flops *= double(times);
  bytes *= double(times);
  sums *= times;
  launches *= times;
  for (SentMessage& m : messages) m.count *= times;
  if (times == 0) messages.clear();
  return *this;
}

int64_t Cost::message_count() const {
  int64_t count = 0;
  for (const SentMessage& m : messages) count += m.count;
  return count;
}

double Cost::message_bytes() const {
  double sum = 0;
  for (const SentMessage& m : messages) sum += m.bytes * double(m.count);
  return sum;
}

Cost cost_of_passes(const Lattice& lattice, const FieldSpec& spec, double fields, double flops_per_real,
                    int launches, int sums) {
  const bool is_full = spec.subset == Subset::full;
  const double sites = double(is_full ? lattice.volume() : lattice.volume() / 2);
  const double objects = sites * spec.rhs * spec.slices;
  const double scale = double(scale_bytes(spec.precision));
  Cost cost;
  cost.flops = cost.conventional_flops = objects * spec.reals * flops_per_real;
  cost.bytes = objects * fields * (spec.reals * double(element_bytes(spec.precision)) + scale);
  cost.launches = int64_t(launches) * (is_full ? 2 : 1);
  cost.sums = sums;
  return cost;
}

}  // namespace trellis
