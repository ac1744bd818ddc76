/// This program searches a graph breadth first over the ranks' alltoallv, and prints the traversed edges a
/// second. run.py beside this file makes the graph, chooses the keys, and compares levels and parents with
/// SciPy's.
///
///     mpirun -n 2 lab_bfs_search --edges FILE --scale N --results FILE --keys KEY,...
///
/// The file of edges holds pairs of 32-bit numbers. The results are 16-bit levels of all vertices and then
/// 32-bit parents, for each key. A line on standard output is a JSON object for each key.
#include <cstdio>

#include "bench/measurement.hpp"
#include "lab/bfs/graph.hpp"
#include "trellis/base/clock.hpp"

namespace trellis::lab {
namespace {

/// Puts the parts of all ranks, in their order, behind what the file has.
template <class T>
void append(std::ofstream& file, Communicator& ranks, const std::vector<T>& own) {
  std::vector<size_t> bytes(size_t(ranks.size()), 0);
  bytes[0] = own.size() * sizeof(T);
  const Parts parts = ranks.alltoallv(own.data(), bytes);
  if (ranks.rank() == 0)
    file.write(reinterpret_cast<const char*>(parts.data.data()), std::streamsize(parts.data.size()));
}

double total(Communicator& ranks, double own) {
  double sum = 0;
  for (const double value : ranks.allgather(own)) sum += value;
  return sum;
}

void search(const std::string& edges, int scale, const std::string& results,
            const std::vector<Vertex>& keys) {
  Communicator& ranks = *world();
  const Graph graph(edges, {scale, ranks.size()}, ranks.rank());
  Search search(graph, ranks);
  std::ofstream file;
  if (ranks.rank() == 0) file.open(results, std::ios::binary);
  if (ranks.any(ranks.rank() == 0 && !file)) throw Error("cannot write " + results);
  search.run(keys.front());  // memory is touched, and connections are made
  for (const Vertex key : keys) {
    ranks.barrier();
    const Stopwatch watch;
    const SearchCount count = search.run(key);
    const double seconds = ranks.maximum(watch.seconds());
    // An edge between two vertices that were reached counts once.
    const double traversed = total(ranks, count.edges) / 2, bytes = total(ranks, count.bytes),
                 messages = total(ranks, count.messages);
    if (ranks.rank() == 0)
      std::printf(
          "{\"key\": %d, \"seconds\": %.6f, \"edges\": %.0f, \"levels\": %d, \"bytes\": %.0f, "
          "\"messages\": %.0f}\n",
          key, seconds, traversed, count.levels, bytes, messages);
    append(file, ranks, search.levels());
    append(file, ranks, search.parents());
  }
  file.close();
  if (ranks.any(ranks.rank() == 0 && !file)) throw Error("cannot write " + results);
}

struct Settings {
  std::string edges = "edges", results = "results";
  int scale = 20;
  std::vector<int> keys{0};
};
Settings& settings() {
  static Settings all;
  return all;
}

bench::Options defaults() {
  Settings& s = settings();
  bench::Options defaults;
  defaults.is_checkable = false;
  defaults.own = {bench::own_text("--edges", "FILE", s.edges, "pairs of 32-bit numbers"),
                  bench::own_text("--results", "FILE", s.results, "it gets levels and parents"),
                  bench::own_integer("--scale", s.scale, 1, 26, "the graph has 2^scale vertices"),
                  bench::own_integers("--keys", s.keys, 0, (1 << 26) - 1, "vertices to begin at")};
  return defaults;
}

int run(const bench::Options&) {
  const Settings& s = settings();
  for (const Vertex key : s.keys)
    if (key >= 1 << s.scale)
      throw BadArgument(message("expected keys from 0 to ", (1 << s.scale) - 1, ", found ", key));
  search(s.edges, s.scale, s.results, s.keys);
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  return trellis::bench::run_benchmark(
      {"A breadth-first search over the ranks' alltoallv.", trellis::lab::defaults(), trellis::lab::run},
      argc, argv);
}
