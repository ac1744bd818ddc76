#pragma once
/// These patterns say who sends what to whom in measurements of exchanges, and exchange such messages by a
/// chosen way.
#include <string>
#include <vector>

#include "trellis/comm/communicator.hpp"
#include "trellis/comm/transport/transport.hpp"

namespace trellis::bench {

/// It has the messages of this rank. Receives have the tags and lengths of the sends that they match.
struct Pattern {
  std::vector<Message> sends, receives;
  bool has_messages() const { return !sends.empty() || !receives.empty(); }
};

/// Partners of ranks are neighbours in their order (0 and 1, 2 and 3), or those half of all ranks apart,
/// which lie on different nodes where ranks fill nodes in turn.
enum class Pairing { next, across };
const char* name_of(Pairing pairing);
/// Returns the partner of a rank in the first `pairs` pairs, and -1 where it has none.
int partner(Pairing pairing, int rank, int ranks, int pairs);

/// Returns numbers of ranks whose product is `ranks`, each at least 2, as equal as can be; the list is empty
/// where there are not so many.
std::vector<int> grid_of(int ranks, int directions);

/// Returns messages to and from the neighbours in all directions of the grid, one forwards and one backwards,
/// as halos do: in a direction with two ranks both go to the same one.
Pattern neighbours(const std::vector<int>& grid, int rank, size_t bytes);
/// Returns the same with the messages to one rank in one, which is as long as they are together.
Pattern merged(const Pattern& pattern);
/// Returns the messages of the pattern whose number, divided by `parts`, leaves `part`.
Pattern part_of(const Pattern& pattern, int part, int parts);
/// Sends `count` messages to the partner and as many from it.
Pattern with_partner(int partner, size_t bytes, int count);

/// Returns "in a node", "between nodes" or "both": where the messages of all ranks go. Collective.
std::string where(const Pattern& pattern);
int most_ranks_of_a_node();

/// It is a persistent exchange of messages that kernels would write and read: each is copied from memory of
/// the sender and read line by line by the receiver.
class MeasuredExchange {
 public:
  /// Makes the exchange. Collective over all ranks. It is null-like (see is_made()) on all ranks where some
  /// node shares no memory.
  MeasuredExchange(TransportWay way, const Pattern& pattern);
  /// Makes it by requests of the communicator with this number: 0 is world(), and each other one has all
  /// ranks, too, in another order. Messages of different communicators share nothing but what the library
  /// makes them share.
  MeasuredExchange(int communicator, const Pattern& pattern);
  /// So many numbers have different communicators.
  static int communicators() { return world()->size() + 1; }

  bool is_made() const { return transport_ != nullptr; }
  void start();
  void wait();
  /// Does one exchange of numbered bytes. Throws Error where a byte arrives that was not sent.
  void check();

 private:
  MeasuredExchange(TransportPtr transport, const Pattern& pattern);
  Pattern pattern_;
  TransportPtr transport_;
  std::vector<unsigned char> source_;
  unsigned char seen_ = 0;
};

}  // namespace trellis::bench
