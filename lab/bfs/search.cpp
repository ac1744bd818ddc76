/// This program searches a graph breadth first over the ranks' alltoallv, and prints the traversed edges a
/// second. run.py beside this file makes the graph, chooses the keys, and compares levels and parents with
/// SciPy's.
///
///     mpirun -n 2 lab_bfs_search EDGES SCALE RESULTS KEY [KEY ...]
///
/// EDGES holds pairs of 32-bit numbers. RESULTS gets 16-bit levels of all vertices and then 32-bit parents,
/// for each key. A line on standard output is a JSON object for each key.
#include <cstdio>
#include <cstdlib>

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

int run(int argc, char** argv) {
  if (argc < 5) throw BadArgument("usage: lab_bfs_search EDGES SCALE RESULTS KEY [KEY ...]");
  const int scale = std::atoi(argv[2]);
  if (scale < 1 || scale > 26) throw BadArgument(message("expected a scale from 1 to 26, found ", argv[2]));
  std::vector<Vertex> keys;
  for (int i = 4; i < argc; ++i) {
    keys.push_back(std::atoi(argv[i]));
    if (keys.back() < 0 || keys.back() >= 1 << scale)
      throw BadArgument(message("expected keys from 0 to ", (1 << scale) - 1, ", found ", argv[i]));
  }
  search(argv[1], scale, argv[3], keys);
  return 0;
}

}  // namespace
}  // namespace trellis::lab

int main(int argc, char** argv) {
  try {
    return trellis::lab::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
