#pragma once
/// Trellis needs this of a message-passing machine: bytes, persistent exchanges, exact sums. It knows no
/// field.
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "trellis/base/exact_sum.hpp"

namespace trellis {

/// This is one message of a persistent exchange.
struct Message {
  int peer;  ///< it is the rank of the other side
  int tag;
  void* data;  ///< null means memory of the exchange, which Exchange::outgoing and incoming tell
  size_t bytes;
};

/// An exchange is a set of messages that is started and waited for many times: construction registers their
/// memory, start() posts them, has_arrived() asks, and wait() completes. Several exchanges may be under way
/// at once, and are waited for in any order. Nothing is allocated after construction.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void start() = 0;
  /// Returns true once receive `number` of the exchange that was started lies where incoming() says. It lets
  /// messages of all exchanges move on, and does not wait.
  virtual bool has_arrived(int number) = 0;
  virtual void wait() = 0;
  /// Returns where send `number` is to be written before the next start(): its data, or memory of the
  /// exchange (64-byte aligned, perhaps another after each start()); there this may wait for the receiver of
  /// the one before.
  virtual void* outgoing(int number) = 0;
  /// Returns where receive `number` lies after wait(): its data, or memory of the exchange that is valid
  /// until the next start(), and perhaps another after each.
  virtual void* incoming(int number) = 0;
};

/// The parts are bytes from or for each rank, one behind the other in the order of ranks.
struct Parts {
  std::vector<std::byte> data;
  std::vector<size_t> bytes;  ///< each entry is the length of a rank's part
};

class Communicator;
class NodeMemory;  // transport/node_memory.hpp
using CommunicatorPtr = std::shared_ptr<Communicator>;

/// All calls are collective unless said otherwise.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< it is not collective
  virtual int size() const = 0;  ///< it is not collective
  virtual const char* name() const = 0;
  virtual void barrier() = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  /// Adds the sums of all ranks, exactly; every rank gets the same. The communicator of all ranks of the job
  /// carries requests to stop, too (base/stop.hpp).
  virtual void sum(ExactSum* sums, int count) = 0;
  /// Takes the bitwise exclusive or over ranks (checksums), and the largest value over ranks.
  virtual void exclusive_or(unsigned* values, int count) = 0;
  virtual double maximum(double value) = 0;
  virtual double minimum(double value) = 0;
  /// Returns the node of each rank, named by its lowest rank, as known from the start. Not collective.
  virtual const std::vector<int>& nodes() const = 0;
  /// Returns the rank among all ranks of world() that a rank of this communicator has. Not collective.
  virtual int world_rank(int rank) const = 0;
  /// Makes an exchange. Messages between two ranks are matched by tag. Not collective by itself.
  virtual std::unique_ptr<Exchange> make_exchange(const std::vector<Message>& sends,
                                                  const std::vector<Message>& receives) = 0;
  /// Sends part i of `data` to rank i, `bytes[i]` long, and returns the parts that the ranks sent to this
  /// one. Throws BadArgument on all ranks where some rank does not name a number of bytes for each rank.
  virtual Parts alltoallv(const void* data, const std::vector<size_t>& bytes) = 0;
  /// Returns the values of all ranks, in their order.
  template <class T>
  std::vector<T> allgather(const T& value);

  /// Returns the communicator of some ranks of this one, in this order, and null on all others. It and its
  /// ranks are the same object each time, and live as long as this communicator. Its calls are collective
  /// over its ranks. Throws BadArgument on all ranks where there is none, one is out of range or named twice,
  /// or ranks do not name the same.
  CommunicatorPtr subset(const std::vector<int>& ranks);
  /// Returns false where ranks never share memory: in a build without MPI. Not collective.
  virtual bool can_share_memory() const = 0;
  /// Returns the ranks with which this one can share memory by the operating system, itself too. It is new at
  /// each call.
  virtual CommunicatorPtr node() = 0;
  /// Returns the memory that ranks of a node share, made at the first call. @pre can_share_memory()
  NodeMemory& node_memory();

  /// Returns true on every rank if it is true on any: this is the way in which errors are agreed.
  bool any(bool flag) { return maximum(flag ? 1.0 : 0.0) > 0.5; }
  struct FirstError {
    std::string text;  ///< it is empty where no rank has an error
    int rank = -1;
  };
  /// Returns the error that is not empty of the lowest such rank, the same on every rank.
  FirstError first_error(const std::string& error);
  /// Throws FileError on every rank if `error` is not empty on some rank, with the message of the lowest such
  /// rank.
  void agree_on_error(const std::string& error);
  /// Throws BadArgument in the same way.
  void agree_on_argument(const std::string& error);

 protected:
  /// Makes the subset for ranks that are legal and the same on all ranks.
  virtual CommunicatorPtr make_subset(const std::vector<int>& ranks) = 0;

 private:
  std::string agreed_text(const std::string& error);
  std::map<std::vector<int>, CommunicatorPtr> subsets_;
  std::shared_ptr<NodeMemory> node_memory_;
};

template <class T>
std::vector<T> Communicator::allgather(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::vector<T> copies(size_t(size()), value);
  const Parts parts = alltoallv(copies.data(), std::vector<size_t>(copies.size(), sizeof(T)));
  std::vector<T> values(copies.size());
  std::memcpy(values.data(), parts.data.data(), parts.data.size());
  return values;
}

/// Returns the communicator of this process group: MPI_COMM_WORLD in an MPI build (initialised at the first
/// call if need be), else the single process.
CommunicatorPtr world();

/// Returns name and version of the message-passing library in one line, and "none" in a build without MPI.
std::string communication_library();
/// Lets messages of exchanges under way move on, for a library that moves them in its calls alone. Loops that
/// wait for something else call it. Only the thread that communicates does so. Not collective.
void move_messages();
/// Returns true if that library says that messages may lie in the memory of a GPU.
bool library_takes_device_memory();

/// Ends the processes of all ranks at once (MPI_Abort); does nothing in a build without MPI. Only the top
/// level of a program calls it, after it has printed an exception that other ranks do not share.
void abort_all_ranks(int status);

}  // namespace trellis
