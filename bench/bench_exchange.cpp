/// This program measures messages between ranks by each way of the halos, and global sums: latency,
/// bandwidth, message rate and overlap against message size, directions, pairs and ranks.
///
///     mpirun -n 8 trellis bench exchange
///
/// | pattern | what happens |
/// |---|---|
/// | ping_pong | a message goes to the partner and comes back; the time is half of that |
/// | both_ways | partners send each other one message at once |
/// | messages | partners send each other many messages at once |
/// | neighbours | halos: two messages for each direction of a grid of all ranks |
/// | merged | the same with one message to each rank, where two directions lead to one, as halos have it |
/// | endpoints | the same as neighbours by requests, dealt over 1, 2 or 4 communicators of MPI |
/// | overlap | the same as neighbours, while each rank computes for as long as the exchange takes alone |
/// | sum, maximum | exact global sums of so many numbers, and MPI's own maximum of one double |
#include <algorithm>
#include <cstdio>
#include <optional>

#include "bench/exchange_patterns.hpp"
#include "bench/measurement.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/traffic.hpp"
#include "trellis/comm/transport/node_memory.hpp"

namespace trellis::bench {
namespace {

struct Settings {
  std::vector<int> bytes{8, 64, 512, 4096, 32768, 262144, 2097152};
  std::vector<int> sums{1, 12, 24};
  int messages = 64;
};

Settings& settings() {
  static Settings all;
  return all;
}

constexpr TransportWay ways[] = {TransportWay::requests, TransportWay::shared, TransportWay::copied};
/// Many messages of more than this take memory and tell nothing new.
constexpr int most_bytes_of_many = 32768;

Options defaults() {
  Settings& s = settings();
  Options defaults;
  defaults.is_checkable = false;
  defaults.seconds = 0.02;
  defaults.rounds = 5;
  defaults.own = {
      own_integers("--bytes", s.bytes, 1, 1 << 26, "lengths of messages"),
      own_integers("--sums", s.sums, 1, 4096, "numbers that a global sum adds"),
      own_integer("--messages", s.messages, 1, 4096, "messages at once in the pattern of that name")};
  return defaults;
}

/// It is one timed thing. Seconds are those of the slowest rank.
struct Row {
  std::string pattern, way, where;
  int bytes = 0, messages = 0;  ///< a message, or a part of one in `merged`, has so many bytes; a rank sends
                                ///< so many
  double all_bytes = 0;         ///< a rank sends so many
  int communicators = 1;
  int directions = 0, pairs = 0, ranks = 0, sums = 0;
  std::vector<double> seconds;                            ///< one exchange takes them, by rounds
  std::optional<double> counted_messages, counted_bytes;  ///< the counters of this rank say so in one
                                                          ///< exchange
  std::optional<double> overlap;  ///< 1 says that all of the exchange is hidden, 0 that nothing is

  double quartile(int which) const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[(sorted.size() - 1) * size_t(which) / 4];
  }
};

/// Returns the seconds of one call, on the slowest rank. Collective: ranks without a part in it call, too.
/// part
double seconds_of(const std::function<void()>& call, int calls) {
  Communicator& comm = *world();
  comm.barrier();
  const double start = now();
  for (int i = 0; i < calls; ++i) call();
  return comm.maximum(now() - start) / calls;
}

/// Returns how many calls take about as long as a timing shall.
int calls_for(const std::function<void()>& call, double seconds) {
  int calls = 4;
  double each = seconds_of(call, calls);
  while (calls * each < seconds / 2 && calls < (1 << 24)) each = seconds_of(call, calls *= 4);
  return std::max(1, int(seconds / each));
}

/// It is a way that there is on this machine, with what it times.
struct Attempt {
  Row row;
  std::function<void()> call;
  int calls = 0;
};

/// Times all of them in turns, so that they see the same minutes of the machine, and counts what is sent.
void time_in_turns(std::vector<Attempt>& attempts, const Options& options, std::vector<Row>& rows) {
  for (Attempt& a : attempts) {
    a.calls = calls_for(a.call, options.seconds);
    const Traffic before = traffic();
    a.call();
    double bytes = 0;
    for (size_t i = 0; i < traffic().bytes_to.size(); ++i)
      bytes += double(traffic().bytes_to[i] - (i < before.bytes_to.size() ? before.bytes_to[i] : 0));
    a.row.counted_messages = double(traffic().messages - before.messages);
    a.row.counted_bytes = bytes;
  }
  for (int round = 0; round < options.rounds; ++round)
    for (Attempt& a : attempts) a.row.seconds.push_back(seconds_of(a.call, a.calls));
  for (const Attempt& a : attempts) rows.push_back(a.row);
}

/// Makes the exchange of a pattern by a way, or returns null on all ranks, which is said once for each way.
std::shared_ptr<MeasuredExchange> exchange_by(TransportWay way, const Pattern& pattern) {
  static std::vector<TransportWay> refused;
  if (std::find(refused.begin(), refused.end(), way) != refused.end()) return nullptr;
  const bool takes_memory = way != TransportWay::requests;
  if (!takes_memory || world()->can_share_memory()) {
    auto exchange = std::make_shared<MeasuredExchange>(way, pattern);
    if (exchange->is_made()) return exchange;
  }
  refused.push_back(way);
  say_skipped(name_of(way), world()->can_share_memory() ? world()->node_memory().failure()
                                                        : "ranks never share memory in this build");
  return nullptr;
}

Row row_of(const std::string& pattern, TransportWay way, const Pattern& messages, int bytes) {
  Row row;
  row.pattern = pattern;
  row.way = name_of(way);
  row.where = where(messages);
  row.bytes = bytes;
  row.messages = int(messages.sends.size());
  for (const Message& m : messages.sends) row.all_bytes += double(m.bytes);
  row.ranks = world()->size();
  return row;
}

void once(MeasuredExchange& exchange) {
  exchange.start();
  exchange.wait();
}

/// Measures all ways of one pattern.
void measure_pattern(const std::string& name, const Pattern& pattern, int bytes, const Options& options,
                     const std::function<void(Row&)>& complete, std::vector<Row>& rows) {
  std::vector<Attempt> attempts;
  for (const TransportWay way : ways) {
    const auto exchange = exchange_by(way, pattern);
    if (!exchange) continue;
    exchange->check();
    Attempt attempt{row_of(name, way, pattern, bytes), [exchange] { once(*exchange); }};
    complete(attempt.row);
    attempts.push_back(attempt);
  }
  time_in_turns(attempts, options, rows);
}

/// The first of each pair sends, and the second sends it back.
void measure_ping_pong(Pairing pairing, int pairs, int bytes, const Options& options,
                       std::vector<Row>& rows) {
  Communicator& comm = *world();
  const int other = partner(pairing, comm.rank(), comm.size(), pairs);
  const bool is_first = other > comm.rank();
  Pattern there = with_partner(other, size_t(bytes), 1), back = there;
  (is_first ? there.receives : there.sends).clear();
  (is_first ? back.sends : back.receives).clear();
  std::vector<Attempt> attempts;
  for (const TransportWay way : ways) {
    const auto ping = exchange_by(way, there), pong = exchange_by(way, back);
    if (!ping || !pong) continue;
    ping->check();
    pong->check();
    Attempt attempt{row_of("ping_pong", way, there, bytes), [ping, pong, other] {
                      if (other < 0) return;
                      once(*ping);
                      once(*pong);
                    }};
    attempt.row.messages = 1;
    attempt.row.all_bytes = bytes;
    attempt.row.pairs = pairs;
    attempts.push_back(attempt);
  }
  const size_t first = rows.size();
  time_in_turns(attempts, options, rows);
  for (size_t i = first; i < rows.size(); ++i)
    for (double& seconds : rows[i].seconds) seconds /= 2;
}

/// Returns 1, 2, 4 and so on up to all pairs.
std::vector<int> numbers_of_pairs(int ranks) {
  std::vector<int> pairs;
  for (int n = 1; n < ranks / 2; n *= 2) pairs.push_back(n);
  pairs.push_back(ranks / 2);
  return pairs;
}

void measure_pairs(int bytes, const Options& options, std::vector<Row>& rows) {
  Communicator& comm = *world();
  for (const Pairing pairing : {Pairing::next, Pairing::across}) {
    if (pairing == Pairing::across && comm.size() < 4) continue;  // they are the same pair
    for (const int pairs : numbers_of_pairs(comm.size())) {
      const auto complete = [&](Row& row) { row.pairs = pairs; };
      const int other = partner(pairing, comm.rank(), comm.size(), pairs);
      measure_ping_pong(pairing, pairs, bytes, options, rows);
      measure_pattern("both_ways", with_partner(other, size_t(bytes), 1), bytes, options, complete, rows);
      if (bytes <= most_bytes_of_many)
        measure_pattern("messages", with_partner(other, size_t(bytes), settings().messages), bytes, options,
                        complete, rows);
    }
  }
}

/// Does multiply-adds in registers, which is work that shares nothing with messages.
double compute(int64_t steps) {
  double sums[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t i = 0; i < steps; ++i)
    for (double& s : sums) s = s * 0.999999 + 1e-7;
  double all = 0;
  for (const double s : sums) all += s;
  return all;
}

int64_t steps_in(double seconds) {
  volatile double result = 0;
  constexpr int64_t probe = 1 << 16;
  const double each = seconds_of([&] { result = compute(probe); }, 4) / double(probe);
  return std::max<int64_t>(1, int64_t(seconds / each));
}

/// Measures (exchange alone + work alone - both) / the shorter of the two, as medians of rounds in turns.
void measure_overlap(const Pattern& pattern, int bytes, int directions, const Options& options,
                     std::vector<Row>& rows) {
  volatile double result = 0;
  for (const TransportWay way : ways) {
    const auto exchange = exchange_by(way, pattern);
    if (!exchange) continue;
    const auto alone = [&] { once(*exchange); };
    const int64_t steps = steps_in(seconds_of(alone, calls_for(alone, options.seconds)));
    const auto work = [&] { result = compute(steps); };
    const auto both = [&] {
      exchange->start();
      work();
      exchange->wait();
    };
    const int calls = calls_for(both, options.seconds);
    Row row = row_of("overlap", way, pattern, bytes);
    row.directions = directions;
    std::vector<double> exchanges, works;
    for (int round = 0; round < options.rounds; ++round) {
      exchanges.push_back(seconds_of(alone, calls));
      works.push_back(seconds_of(work, calls));
      row.seconds.push_back(seconds_of(both, calls));
    }
    const double e = median(exchanges), w = median(works);
    row.overlap = (e + w - median(row.seconds)) / std::min(e, w);
    rows.push_back(row);
  }
}

/// Measures the messages of a pattern dealt over several communicators, which are under way at once.
void measure_endpoints(const Pattern& pattern, int bytes, int directions, const Options& options,
                       std::vector<Row>& rows) {
  std::vector<Attempt> attempts;
  for (const int count : {1, 2, 4}) {
    if (count > int(pattern.sends.size()) || count > MeasuredExchange::communicators()) break;
    auto parts = std::make_shared<std::vector<std::unique_ptr<MeasuredExchange>>>();
    for (int i = 0; i < count; ++i) {
      parts->push_back(std::make_unique<MeasuredExchange>(i, part_of(pattern, i, count)));
      parts->back()->check();
    }
    Attempt attempt{row_of("endpoints", TransportWay::requests, pattern, bytes), [parts] {
                      for (const auto& part : *parts) part->start();
                      for (const auto& part : *parts) part->wait();
                    }};
    attempt.row.directions = directions;
    attempt.row.communicators = count;
    attempts.push_back(attempt);
  }
  time_in_turns(attempts, options, rows);
}

void measure_neighbours(int bytes, const Options& options, std::vector<Row>& rows) {
  Communicator& comm = *world();
  int most = 0;
  for (int directions = 1; directions <= Nd; ++directions) {
    const std::vector<int> grid = grid_of(comm.size(), directions);
    if (grid.empty()) continue;
    most = directions;
    const Pattern parts = neighbours(grid, comm.rank(), size_t(bytes));
    const auto complete = [&](Row& row) { row.directions = directions; };
    measure_pattern("neighbours", parts, bytes, options, complete, rows);
    if (merged(parts).sends.size() < parts.sends.size())
      measure_pattern("merged", merged(parts), bytes, options, complete, rows);
    measure_endpoints(parts, bytes, directions, options, rows);
  }
  measure_overlap(neighbours(grid_of(comm.size(), most), comm.rank(), size_t(bytes)), bytes, most, options,
                  rows);
}

/// Measures on the first 2, 4, 8 and so on ranks, and on all, while the others wait.
void measure_sums(const Options& options, std::vector<Row>& rows) {
  Communicator& comm = *world();
  std::vector<int> counts;
  for (int n = 2; n < comm.size(); n *= 2) counts.push_back(n);
  counts.push_back(comm.size());
  for (const int count : counts) {
    std::vector<int> ranks;
    for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
    const CommunicatorPtr some = comm.subset(ranks);
    std::vector<Attempt> attempts;
    for (const int numbers : settings().sums) {
      Row row;
      row.pattern = "sum";
      row.sums = numbers;
      attempts.push_back({row, [some, terms = std::vector<ExactSum>(size_t(numbers))]() mutable {
                            for (ExactSum& s : terms) s = ExactSum();
                            if (some) some->sum(terms.data(), int(terms.size()));
                          }});
    }
    Row row;
    row.pattern = "maximum";
    row.sums = 1;
    attempts.push_back({row, [some] {
                          if (some) some->maximum(1.0);
                        }});
    const size_t first = rows.size();
    time_in_turns(attempts, options, rows);
    for (size_t i = first; i < rows.size(); ++i) {
      rows[i].way = comm.name();
      rows[i].ranks = count;
      rows[i].counted_messages.reset();
      rows[i].counted_bytes.reset();
    }
  }
}

bool is_sum(const Row& row) { return row.sums > 0; }

Json json_of(const Row& row) {
  const double seconds = row.quartile(2);
  Json json = {{"pattern", row.pattern},
               {"way", row.way},
               {"ranks", row.ranks},
               {"ranks_per_node", most_ranks_of_a_node()},
               {"seconds", rounded(seconds)},
               {"seconds_quartiles", {rounded(row.quartile(1)), rounded(row.quartile(3))}}};
  if (is_sum(row)) {
    json["sums"] = row.sums;
    return json;
  }
  json.update({{"where", row.where},
               {"bytes", row.bytes},
               {"messages", row.messages},
               {"pairs", row.pairs},
               {"directions", row.directions},
               {"communicators", row.communicators},
               {"bytes_per_second", rounded(row.all_bytes / seconds)},
               {"messages_per_second", rounded(row.messages / seconds)}});
  if (row.counted_messages) json["counted_messages"] = *row.counted_messages;
  if (row.counted_bytes) json["counted_bytes"] = *row.counted_bytes;
  if (row.overlap) json["overlap"] = rounded(*row.overlap, 3);
  return json;
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-10s %-9s %-13s %5s %5s %4s %5s %8s %4s %11s %9s %12s %8s\n", "pattern", "way", "where",
              "ranks", "pairs", "dirs", "comms", "bytes", "msgs", "us", "GB/s", "messages/s", "overlap");
  for (const Row& row : rows) {
    if (is_sum(row)) continue;
    const double seconds = row.quartile(2);
    std::printf("%-10s %-9s %-13s %5d %5d %4d %5d %8d %4d %11.2f %9.3f %12.4g ", row.pattern.c_str(),
                row.way.c_str(), row.where.c_str(), row.ranks, row.pairs, row.directions, row.communicators,
                row.bytes, row.messages, seconds * 1e6, row.all_bytes / seconds * 1e-9,
                row.messages / seconds);
    row.overlap ? std::printf("%8.2f\n", *row.overlap) : std::printf("%8s\n", "-");
  }
  std::printf("\n%-10s %5s %8s %11s\n", "reduction", "ranks", "numbers", "us");
  for (const Row& row : rows)
    if (is_sum(row))
      std::printf("%-10s %5d %8d %11.2f\n", row.pattern.c_str(), row.ranks, row.sums, row.quartile(2) * 1e6);
}

int bench(const Options& options) {
  Communicator& comm = *world();
  if (comm.size() < 2)
    throw BadArgument(
        "messages travel between two or more ranks, and this is one: mpirun -n 2 trellis bench exchange");
  std::vector<Row> rows;
  for (const int bytes : settings().bytes) {
    measure_pairs(bytes, options, rows);
    measure_neighbours(bytes, options, rows);
  }
  measure_sums(options, rows);
  if (comm.rank() != 0) return 0;
  if (!options.json) {
    print_table(rows);
    return 0;
  }
  Json all = {{"machine", machine()}, {"library", communication_library()}, {"results", Json::array()}};
  for (const Row& row : rows) all["results"].push_back(json_of(row));
  std::puts(line_of(all).c_str());
  return 0;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark(
      {"Messages between ranks by each way of the halos, and global sums.", defaults(), bench}, argc, argv);
}
