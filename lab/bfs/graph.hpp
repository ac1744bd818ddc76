#pragma once
/// A rank has the rows of its own vertices of an undirected graph, and searches with the others level by
/// level.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"

namespace trellis::lab {

using Vertex = int32_t;
struct Edge {
  Vertex tail, head;
};

/// The vertices of a graph, 2^scale, are dealt out to ranks in blocks (owners() of trellis.model.graphs).
struct Partition {
  int scale, ranks;

  int owner(Vertex v) const { return int((uint64_t(v) * uint64_t(ranks)) >> scale); }
  Vertex first(int rank) const {
    return Vertex(((uint64_t(rank) << scale) + uint64_t(ranks) - 1) / uint64_t(ranks));
  }
  size_t vertices() const { return size_t(1) << scale; }
};

/// It has the neighbours of the own vertices, ascending and each once; loops are left out.
class Graph {
 public:
  /// Reads edges, pairs of 32-bit numbers, as every rank reads them all.
  Graph(const std::string& path, const Partition& partition, int rank)
      : partition_{partition}, first_{partition.first(rank)}, own_{partition.first(rank + 1) - first_} {
    begin_.assign(size_t(own_) + 1, 0);
    for_each_end(path, [&](Vertex own, Vertex) { ++begin_[size_t(own) + 1]; });
    for (size_t v = 0; v < size_t(own_); ++v) begin_[v + 1] += begin_[v];
    heads_.resize(begin_.back());
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    for_each_end(path, [&](Vertex own, Vertex other) { heads_[next[size_t(own)]++] = other; });
    remove_duplicates();
  }

  const Partition& partition() const { return partition_; }
  Vertex first() const { return first_; }
  Vertex own() const { return own_; }
  const Vertex* begin(Vertex own) const { return heads_.data() + begin_[size_t(own)]; }
  const Vertex* end(Vertex own) const { return heads_.data() + begin_[size_t(own) + 1]; }
  size_t degree(Vertex own) const { return begin_[size_t(own) + 1] - begin_[size_t(own)]; }

 private:
  /// Calls f(own vertex from 0, other end) for each end of an edge that is an own vertex.
  template <class F>
  void for_each_end(const std::string& path, const F& f) const {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error("expected a file of edges, cannot read " + path);
    std::vector<Edge> part(size_t(1) << 16);
    const auto take = [&](Vertex own, Vertex other) {
      if (own != other && own >= first_ && own < first_ + own_) f(own - first_, other);
    };
    for (std::streamsize bytes = 1; bytes > 0;) {
      file.read(reinterpret_cast<char*>(part.data()), std::streamsize(part.size() * sizeof(Edge)));
      bytes = file.gcount();
      if (bytes % std::streamsize(sizeof(Edge)) != 0)
        throw Error(path + " is cut off: expected pairs of 32-bit numbers");
      for (size_t i = 0; i < size_t(bytes) / sizeof(Edge); ++i) {
        for (const Vertex v : {part[i].tail, part[i].head})
          if (v < 0 || size_t(v) >= partition_.vertices())
            throw Error(
                message(path, ": expected vertices from 0 to ", partition_.vertices() - 1, ", found ", v));
        take(part[i].tail, part[i].head);
        take(part[i].head, part[i].tail);
      }
    }
  }
  void remove_duplicates() {
    size_t kept = 0, row = 0;
    for (size_t v = 0; v < size_t(own_); ++v) {
      const size_t row_end = begin_[v + 1];
      std::sort(heads_.data() + row, heads_.data() + row_end);
      begin_[v] = kept;
      for (size_t i = row; i < row_end; ++i)
        if (i == row || heads_[i] != heads_[i - 1]) heads_[kept++] = heads_[i];
      row = row_end;
    }
    begin_.back() = kept;
    heads_.resize(kept);
    heads_.shrink_to_fit();
  }

  Partition partition_;
  Vertex first_, own_;
  std::vector<size_t> begin_;
  std::vector<Vertex> heads_;
};

/// A search from one vertex counts this on one rank.
struct SearchCount {
  double edges = 0;  ///< directed edges that leave the vertices which were reached
  double bytes = 0, messages = 0;
  int levels = 0;
};

/// This is a level-synchronous search: in each level a rank looks at the edges of its front, and sends an end
/// that another rank has to that rank, with its parent. A rank sends no vertex twice.
class Search {
 public:
  Search(const Graph& graph, Communicator& communicator)
      : graph_{graph}, communicator_{communicator}, out_(size_t(communicator.size())) {}

  SearchCount run(Vertex key) {
    level_.assign(size_t(graph_.own()), -1);
    parent_.assign(size_t(graph_.own()), -1);
    is_sent_.assign(graph_.partition().vertices(), false);
    next_.clear();
    SearchCount count;
    if (graph_.partition().owner(key) == communicator_.rank()) reach(key - graph_.first(), key, 0);
    for (; communicator_.maximum(double(next_.size())) > 0; ++count.levels) {
      if (count.levels == std::numeric_limits<int16_t>::max())
        throw Error(message("expected at most ", count.levels, " levels, found more"));
      front_.swap(next_);
      next_.clear();
      look_at_edges(count);
      take_what_arrives(count);
    }
    return count;
  }
  /// Returns the level of each own vertex; -1 where it was not reached.
  const std::vector<int16_t>& levels() const { return level_; }
  /// Returns the vertex by which each own vertex was reached, itself at the key and -1 where it was not
  /// reached.
  const std::vector<Vertex>& parents() const { return parent_; }

 private:
  /// The vertex is one of the receiver's, counted from its first.
  struct Found {
    Vertex vertex, parent;
  };

  void reach(Vertex own, Vertex parent, int level) {
    if (level_[size_t(own)] >= 0) return;
    level_[size_t(own)] = int16_t(level);
    parent_[size_t(own)] = parent;
    next_.push_back(own);
  }
  void look_at_edges(SearchCount& count) {
    const Partition& partition = graph_.partition();
    const int rank = communicator_.rank();
    for (auto& list : out_) list.clear();
    for (const Vertex own : front_) {
      const Vertex tail = graph_.first() + own;
      count.edges += double(graph_.degree(own));
      for (const Vertex* head = graph_.begin(own); head != graph_.end(own); ++head) {
        const int owner = partition.owner(*head);
        if (owner == rank) {
          reach(*head - graph_.first(), tail, count.levels + 1);
        } else if (!is_sent_[size_t(*head)]) {
          is_sent_[size_t(*head)] = true;
          out_[size_t(owner)].push_back({*head - partition.first(owner), tail});
        }
      }
    }
  }
  void take_what_arrives(SearchCount& count) {
    std::vector<Found> all;
    std::vector<size_t> bytes;
    for (const auto& list : out_) {
      all.insert(all.end(), list.begin(), list.end());
      bytes.push_back(list.size() * sizeof(Found));
      count.bytes += double(bytes.back());
      count.messages += bytes.back() > 0 ? 1 : 0;
    }
    const Parts parts = communicator_.alltoallv(all.data(), bytes);
    const auto* found = reinterpret_cast<const Found*>(parts.data.data());
    for (size_t i = 0; i < parts.data.size() / sizeof(Found); ++i)
      reach(found[i].vertex, found[i].parent, count.levels + 1);
  }

  const Graph& graph_;
  Communicator& communicator_;
  std::vector<int16_t> level_;
  std::vector<Vertex> parent_, front_, next_;
  std::vector<bool> is_sent_;
  std::vector<std::vector<Found>> out_;
};

}  // namespace trellis::lab
