/// This program measures the halo of a Wilson hop by each way in which it can travel: whole hops, and
/// packing, inner sites, halo, unpacking, waiting and border step by step.
///
///     trellis bench halo --partition 1.2.2.2 --self      # one process sends its faces to itself
///     mpirun -n 8 trellis bench halo                     # ranks send them to each other
///
/// Lattices are those of one rank. Rows of the pattern ping_pong are single messages, as bench exchange has
/// them; each way is a link of the scaling model, as tables [[link]] of a machine.toml have it.
#include <algorithm>
#include <cstdio>

#include "bench/halo_ladder.hpp"
#include "bench/measurement.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/gpu.hpp"
#include "trellis/device/threads.hpp"

namespace trellis::bench {
namespace {

struct Settings {
  Coord partition{};  ///< zeros stand for the grid of the ranks
  bool is_self = false;
  std::string device;  ///< it is empty for a GPU where there is one
  std::vector<int> bytes{8, 4096, 65536, 1048576, 4194304};
};
Settings& settings() {
  static Settings all;
  return all;
}

Options defaults() {
  Settings& s = settings();
  Options defaults;
  defaults.is_checkable = false;
  defaults.lattices = {{8, 8, 8, 8}, {16, 16, 16, 16}, {24, 24, 24, 24}, {32, 32, 32, 32}};
  defaults.precisions.assign(std::begin(all_precisions), std::end(all_precisions));
  defaults.link_reals = {12};
  defaults.rhs = {1};
  defaults.seconds = 0.02;
  defaults.rounds = 5;
  defaults.own = {
      own_extents("--partition", s.partition, "", "process grid; without it the ranks divide time"),
      own_flag("--self", s.is_self, "one process plays a rank of the partition: faces go to itself"),
      {"--device", "cpu|cuda", "", "without it a GPU, where there is one",
       [&s](const std::string& word) {
         if (word != "cpu" && word != "cuda")
           throw BadArgument(message("expected cpu or cuda, found '", word, "'"));
         s.device = word;
       }},
      own_integers("--bytes", s.bytes, 1, 1 << 26, "lengths of single messages")};
  return defaults;
}

Backend backend() {
  const std::string why = cuda::why_no_gpu();
  if (settings().device == "cuda" && !why.empty()) throw NotAvailable(why);
  return settings().device == "cuda" || (settings().device.empty() && why.empty()) ? Backend::cuda
                                                                                   : Backend::cpu;
}

/// Returns the partition: where none is named the ranks divide time.
Coord partition_of() {
  const int ranks = world()->size();
  const Coord named = settings().partition;
  const bool is_named = named != Coord{};
  if (settings().is_self) {
    if (!is_named || product(named) < 2)
      throw BadArgument("--self needs a partition that cuts a direction, such as --partition 1.2.2.2");
    return named;
  }
  if (ranks < 2)
    throw BadArgument(
        "halos travel between two or more ranks, and this is one: mpirun -n 2 trellis bench halo, or "
        "--partition 1.2.2.2 --self");
  if (is_named && product(named) != ranks)
    throw BadArgument(message("expected a partition over ", ranks, " ranks, found ", to_string(named)));
  return is_named ? named : Coord{1, 1, 1, ranks};
}

/// It is a rung of the ladder.
struct Row {
  HaloCase halo;
  HaloTimes times;
};

const char* where() {
  if (settings().is_self) return "in a node";
  const std::vector<int>& nodes = world()->nodes();
  return std::count(nodes.begin(), nodes.end(), nodes[0]) == std::ptrdiff_t(nodes.size()) ? "in a node"
                                                                                          : "between nodes";
}

Json json_of(const Row& row) {
  const HaloTimes& t = row.times;
  Json json = {{"pattern", "halo"},
               {"way", t.way},
               {"where", where()},
               {"backend", name_of(row.halo.backend)},
               {"is_self", row.halo.is_self},
               {"lattice", row.halo.local},
               {"partition", row.halo.partition},
               {"precision", name_of(row.halo.precision)},
               {"link_reals", row.halo.link_reals},
               {"rhs", row.halo.rhs}};
  if (!t.missing.empty()) {
    json["missing"] = t.missing;
    return json;
  }
  json.update({{"messages", t.messages},
               {"bytes", t.bytes},
               {"seconds", rounded(t.hop)},
               {"uncut_seconds", rounded(t.uncut)},
               {"packing_seconds", rounded(t.packing)},
               {"halo_seconds", rounded(t.halo)},
               {"unpacking_seconds", rounded(t.unpacking)},
               {"interior_seconds", rounded(t.interior)},
               {"border_seconds", rounded(t.border)},
               {"waiting_seconds", rounded(t.waiting())}});
  return json;
}

Json json_of(const LinkTime& link) {
  return {{"pattern", "ping_pong"},
          {"way", link.way},
          {"where", where()},
          {"bytes", link.bytes},
          {"messages", 1},
          {"pairs", 1},
          {"ranks", world()->size()},
          {"seconds", rounded(link.seconds)}};
}

/// It is a way as a machine.toml has it: the shortest message takes the latency, and what the longest one has
/// more travels at the rate.
struct Link {
  std::string way;
  double latency, bytes_per_second;

  const char* between() const { return where() == std::string("in a node") ? "device-device" : "node-nic"; }
  const char* path() const {
    if (way == "staged" || way == "mapped") return "staged";
    return way == "persistent" || way == "shared" || way == "copied" ? "shared" : "peer";
  }
};

std::vector<Link> links_of(const std::vector<LinkTime>& times) {
  std::vector<Link> links;
  for (const LinkTime& first : times) {
    const auto is_same = [&](const LinkTime& t) { return t.way == first.way; };
    if (!links.empty() && links.back().way == first.way) continue;
    const LinkTime *shortest = &first, *longest = &first;
    for (const LinkTime& t : times) {
      if (!is_same(t)) continue;
      if (t.bytes < shortest->bytes) shortest = &t;
      if (t.bytes > longest->bytes) longest = &t;
    }
    const double more = longest->seconds - shortest->seconds;
    if (more > 0)
      links.push_back({first.way, shortest->seconds, double(longest->bytes - shortest->bytes) / more});
  }
  return links;
}

Json json_of(const Link& link) {
  return {{"name", link.way},
          {"between", link.between()},
          {"path", link.path()},
          {"gbs", rounded(1e-9 * link.bytes_per_second, 4)},
          {"latency_us", rounded(1e6 * link.latency, 4)}};
}

void print_head(const HaloCase& halo) {
  std::printf(
      "\nWilson hop, %s, %s, %d link reals, %d right-hand sides; %s sites of a rank, partition %s%s\n",
      name_of(halo.backend), name_of(halo.precision), halo.link_reals, halo.rhs,
      to_string(halo.local).c_str(), to_string(halo.partition).c_str(),
      halo.is_self ? ", faces go to the process itself" : "");
  std::printf("%-12s %9s %9s %6s | %9s %9s %9s %9s %9s %9s | %4s %9s\n", "way", "hop us", "uncut us", "ratio",
              "packing", "interior", "halo", "unpacking", "border", "waiting", "msgs", "bytes");
}

void print(const HaloTimes& t) {
  if (!t.missing.empty()) {
    std::printf("%-12s not here: %s\n", t.way.c_str(), t.missing.c_str());
    return;
  }
  std::printf("%-12s %9.2f %9.2f %6.2f | %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f | %4d %9.0f\n", t.way.c_str(),
              1e6 * t.hop, 1e6 * t.uncut, t.hop / t.uncut, 1e6 * t.packing, 1e6 * t.interior, 1e6 * t.halo,
              1e6 * t.unpacking, 1e6 * t.border, 1e6 * t.waiting(), t.messages, t.bytes);
}

void print(const std::vector<LinkTime>& links) {
  std::printf("\none message\n%-12s %9s %11s %9s\n", "way", "bytes", "us", "GB/s");
  for (const LinkTime& link : links)
    std::printf("%-12s %9zu %11.2f %9.3f\n", link.way.c_str(), link.bytes, 1e6 * link.seconds,
                1e-9 * double(link.bytes) / link.seconds);
  std::printf("\nfor a machine.toml\n");
  for (const Link& link : links_of(links))
    std::printf("[[link]]\nname = \"%s\"\nbetween = \"%s\"\npath = \"%s\"\ngbs = %.4g\nlatency_us = %.4g\n",
                link.way.c_str(), link.between(), link.path(), 1e-9 * link.bytes_per_second,
                1e6 * link.latency);
}

int bench(const Options& options) {
  set_thread_count(options.threads);
  const HaloTiming timing{options.seconds, options.rounds};
  const bool prints = world()->rank() == 0 && !options.json;
  HaloCase halo;
  halo.backend = backend();
  halo.is_self = settings().is_self;
  std::vector<Row> rows;
  for (const Coord& local : options.lattices)
    for (const Precision precision : options.precisions)
      for (const int link_reals : options.link_reals)
        for (const int rhs : options.rhs) {
          halo.local = local;
          halo.partition = partition_of();
          halo.precision = precision;
          halo.link_reals = link_reals;
          halo.rhs = rhs;
          if (!is_legal(precision, link_reals)) continue;
          const std::vector<HaloTimes> ladder = climb(halo, timing);
          for (const HaloTimes& t : ladder) rows.push_back({halo, t});
          if (!prints) continue;
          print_head(halo);
          for (const HaloTimes& t : ladder) print(t);
          std::printf("%s", picture(ladder).c_str());
        }
  const std::vector<LinkTime> links =
      time_links(halo.backend, halo.is_self, {settings().bytes.begin(), settings().bytes.end()}, timing);
  if (world()->rank() != 0) return 0;
  if (prints) {
    print(links);
    return 0;
  }
  Json all = {{"machine", machine()}, {"library", communication_library()}, {"results", Json::array()}};
  for (const Row& row : rows) all["results"].push_back(json_of(row));
  for (const LinkTime& link : links) all["results"].push_back(json_of(link));
  all["links"] = Json::array();
  for (const Link& link : links_of(links)) all["links"].push_back(json_of(link));
  std::puts(line_of(all).c_str());
  return 0;
}

}  // namespace
}  // namespace trellis::bench

int main(int argc, char** argv) {
  using namespace trellis::bench;
  return run_benchmark({"The halo of a Wilson hop by each way, whole and step by step.", defaults(), bench},
                       argc, argv);
}
