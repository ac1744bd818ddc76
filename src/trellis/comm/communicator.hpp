#pragma once
/// What Trellis needs of a message-passing machine: bytes, persistent exchanges, exact sums. Knows no field.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trellis/base/exact_sum.hpp"

namespace trellis {

/// One message of a persistent exchange.
struct Message {
  int peer;  ///< rank
  int tag;
  void* data;  ///< null: in memory of the exchange, which Exchange::outgoing and incoming tell
  size_t bytes;
};

/// A set of messages that is started and waited for many times. Nothing is allocated after construction.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void start() = 0;
  virtual void wait() = 0;
  /// Where send `number` is to be written before the next start(): its data, or memory of the exchange
  /// (64-byte aligned, perhaps another after each start()); there this may wait for the receiver of the one
  /// before.
  virtual void* outgoing(int number) = 0;
  /// Where receive `number` lies after wait(): its data, or memory of the exchange that is valid until the
  /// next start(), and perhaps another after each.
  virtual void* incoming(int number) = 0;
};

/// All calls are collective unless said otherwise.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< not collective
  virtual int size() const = 0;  ///< not collective
  virtual const char* name() const = 0;
  virtual void barrier() = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  /// Adds the sums of all ranks, exactly; every rank gets the same.
  virtual void sum(ExactSum* sums, int count) = 0;
  /// Bitwise exclusive or over ranks (checksums) and the largest value over ranks.
  virtual void exclusive_or(unsigned* values, int count) = 0;
  virtual double maximum(double value) = 0;
  virtual double minimum(double value) = 0;
  /// The node of each rank, named by its lowest rank; known from the start. Not collective.
  virtual const std::vector<int>& nodes() const = 0;
  /// Messages between two ranks are matched by tag. Not collective by itself.
  virtual std::unique_ptr<Exchange> make_exchange(const std::vector<Message>& sends,
                                                  const std::vector<Message>& receives) = 0;
  /// True on every rank if it is true on any: the way in which errors are agreed.
  bool any(bool flag) { return maximum(flag ? 1.0 : 0.0) > 0.5; }
  /// If `error` is not empty on some rank, every rank throws FileError with the message of the lowest such
  /// rank.
  void agree_on_error(const std::string& error);
};

using CommunicatorPtr = std::shared_ptr<Communicator>;

/// The communicator of this process group: MPI_COMM_WORLD in an MPI build (initialised at the first call if
/// need be), else the single process.
CommunicatorPtr world();

/// Name and version of the message-passing library, one line; "none" in a build without MPI.
std::string communication_library();

/// Ends the processes of all ranks at once (MPI_Abort); does nothing in a build without MPI. For the top
/// level of a program only, after it has printed an exception that other ranks do not share.
void abort_all_ranks(int status);

}  // namespace trellis
