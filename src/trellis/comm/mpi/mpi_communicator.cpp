/// The communicator over MPI has persistent requests, and exact sums by a user-defined reduction.
#define OMPI_SKIP_MPICXX 1  // the C++ bindings of MPI-2 are not wanted
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/alltoallv.hpp"
#include "trellis/comm/delayed_exchange.hpp"
#include "trellis/comm/launcher.hpp"
#include "trellis/comm/message_memory.hpp"
#include "trellis/comm/mpi/end_of_job.hpp"
#include "trellis/comm/traffic.hpp"

namespace trellis {

namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(message(call, " failed: ", std::string(text, size_t(length))));
}

void merge_exact_sums(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<ExactSum*>(inout)[i].merge(static_cast<ExactSum*>(in)[i]);
}

/// A request to stop travels with the first sum as a second bit of this flag, which merge() joins bit by bit.
constexpr int32_t asks_to_stop = 2;

/// So many exchanges were started and are not complete. Only the thread that communicates reads and writes
/// it.
int exchanges_under_way = 0;

class PersistentExchange final : public Exchange {
 public:
  PersistentExchange(MPI_Comm comm, const std::vector<Message>& sends, const std::vector<Message>& receives)
      : sends_{memory_.complete(sends)}, receives_{memory_.complete(receives)} {
    requests_.reserve(sends_.size() + receives_.size());
    for (const Message& m : receives_) {
      require_int(m);
      requests_.emplace_back();
      check(MPI_Recv_init(m.data, int(m.bytes), MPI_BYTE, m.peer, m.tag, comm, &requests_.back()),
            "MPI_Recv_init");
    }
    for (const Message& m : sends_) {
      require_int(m);
      requests_.emplace_back();
      check(MPI_Send_init(m.data, int(m.bytes), MPI_BYTE, m.peer, m.tag, comm, &requests_.back()),
            "MPI_Send_init");
    }
    expect_messages(sends_);
  }
  ~PersistentExchange() override {
    if (is_under_way_) --exchanges_under_way;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    for (MPI_Request& r : requests_) MPI_Request_free(&r);
  }
  void start() override {
    count_messages(sends_);
    if (requests_.empty()) return;  // Open MPI refuses an array of none
    if (!is_under_way_) ++exchanges_under_way;
    is_under_way_ = true;
    check(MPI_Startall(int(requests_.size()), requests_.data()), "MPI_Startall");
  }
  bool has_arrived(int number) override {
    int has_arrived = 1;  // a request that is complete stays so until it is started anew
    check(MPI_Test(&requests_[size_t(number)], &has_arrived, MPI_STATUS_IGNORE), "MPI_Test");
    return has_arrived != 0;
  }
  void wait() override {
    if (is_under_way_) --exchanges_under_way;
    is_under_way_ = false;
    check(MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  void* outgoing(int number) override { return sends_[size_t(number)].data; }
  void* incoming(int number) override { return receives_[size_t(number)].data; }

 private:
  static void require_int(const Message& m) {
    TRELLIS_REQUIRE(m.bytes <= size_t(2147483647), "a message of ", m.bytes,
                    " bytes is too long for one MPI call");
  }
  MessageMemory memory_;
  std::vector<Message> sends_, receives_;
  std::vector<MPI_Request> requests_;  ///< they are receives, then sends
  bool is_under_way_ = false;
};

/// Returns the number of TRELLIS_NODES, a switch for tests: ranks do as if they were on so many nodes, in
/// their order.
/// Campaigns put names of nodes there, which pretend nothing.
std::optional<int> pretended_nodes() {
  const char* const text = std::getenv("TRELLIS_NODES");
  if (text == nullptr || std::strspn(text, "0123456789") != std::strlen(text)) return std::nullopt;
  return environment_number("TRELLIS_NODES", 1, INT_MAX);
}

/// Finds nodes by shared memory; TRELLIS_RANKS_PER_NODE says otherwise (tests, and machines whose nodes have
/// domains), and so does TRELLIS_NODES.
std::vector<int> find_nodes(MPI_Comm comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int first = rank;
  if (const auto count = pretended_nodes()) {
    TRELLIS_REQUIRE(*count <= size && size % *count == 0, "TRELLIS_NODES: expected a divisor of the ", size,
                    " ranks, found ", *count);
    first = rank - rank % (size / *count);
  } else if (const auto ranks = environment_number("TRELLIS_RANKS_PER_NODE", 1, INT_MAX)) {
    first = rank - rank % *ranks;
  } else {
    MPI_Comm node;
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    check(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");  // its ranks are ordered by those of comm
    MPI_Comm_free(&node);
  }
  std::vector<int> nodes(static_cast<size_t>(size), 0);
  check(MPI_Allgather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm), "MPI_Allgather");
  return nodes;
}

/// Returns nodes() of a subset: the nodes of some ranks, each named by the first of them.
std::vector<int> nodes_of_subset(const std::vector<int>& nodes, const std::vector<int>& ranks) {
  std::vector<int> result;
  for (const int rank : ranks) {
    const auto same = [&](int other) { return nodes[size_t(other)] == nodes[size_t(rank)]; };
    result.push_back(int(std::find_if(ranks.begin(), ranks.end(), same) - ranks.begin()));
  }
  return result;
}

/// Sends and receives parts of any length, also beyond what an int counts. Parts of no bytes are not sent.
void send_parts(MPI_Comm comm, const std::byte* data, const std::vector<size_t>& bytes, Parts& received) {
  constexpr size_t chunk = size_t(1) << 30;
  constexpr int tag = 32767;  // no halo has that many messages
  int own = 0;
  MPI_Comm_rank(comm, &own);
  std::vector<MPI_Request> requests;
  size_t from = 0, to = 0, own_from = 0, own_to = 0;
  for (int rank = 0; rank < int(bytes.size()); ++rank) {
    const size_t in = received.bytes[size_t(rank)], out = bytes[size_t(rank)];
    if (rank == own) own_from = from, own_to = to;
    for (size_t done = 0; rank != own && done < in; done += chunk)
      check(MPI_Irecv(received.data.data() + to + done, int(std::min(chunk, in - done)), MPI_BYTE, rank, tag,
                      comm, &requests.emplace_back()),
            "MPI_Irecv");
    for (size_t done = 0; rank != own && done < out; done += chunk)
      check(MPI_Isend(data + from + done, int(std::min(chunk, out - done)), MPI_BYTE, rank, tag, comm,
                      &requests.emplace_back()),
            "MPI_Isend");
    to += in;
    from += out;
  }
  if (bytes[size_t(own)] > 0) std::memcpy(received.data.data() + own_to, data + own_from, bytes[size_t(own)]);
  check(MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

/// Communicators live as long as the process: nothing is freed, as ranks end theirs in any order.
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm, std::vector<int> nodes = {}, std::vector<int> world_ranks = {})
      : comm_{comm}, nodes_{std::move(nodes)}, world_ranks_{std::move(world_ranks)} {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Type_contiguous(int(sizeof(ExactSum)), MPI_BYTE, &exact_sum_type_), "MPI_Type_contiguous");
    check(MPI_Type_commit(&exact_sum_type_), "MPI_Type_commit");
    check(MPI_Op_create(merge_exact_sums, 1, &exact_sum_op_), "MPI_Op_create");
    if (nodes_.empty()) nodes_ = find_nodes(comm_);
    if (!world_ranks_.empty()) return;
    world_ranks_.resize(size_t(size_));
    std::iota(world_ranks_.begin(), world_ranks_.end(), 0);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "MPI"; }
  void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }
  void broadcast(void* data, size_t bytes, int root) override {
    constexpr size_t chunk = size_t(1) << 30;
    for (size_t done = 0; done < bytes; done += chunk)
      check(MPI_Bcast(static_cast<char*>(data) + done, int(std::min(chunk, bytes - done)), MPI_BYTE, root,
                      comm_),
            "MPI_Bcast");
  }
  void sum(ExactSum* sums, int count) override {
    ++traffic().sums;
    const bool carries_requests = count > 0 && comm_ == MPI_COMM_WORLD;
    if (carries_requests && take_stop_request()) sums[0].is_not_finite |= asks_to_stop;
    if (size_ > 1)
      check(MPI_Allreduce(MPI_IN_PLACE, sums, count, exact_sum_type_, exact_sum_op_, comm_), "MPI_Allreduce");
    if (!carries_requests || (sums[0].is_not_finite & asks_to_stop) == 0) return;
    sums[0].is_not_finite &= ~asks_to_stop;
    agree_to_stop();
  }
  void exclusive_or(unsigned* values, int count) override {
    check(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UNSIGNED, MPI_BXOR, comm_), "MPI_Allreduce");
  }
  double maximum(double value) override {
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm_), "MPI_Allreduce");
    return value;
  }
  double minimum(double value) override {
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, comm_), "MPI_Allreduce");
    return value;
  }
  std::unique_ptr<Exchange> make_exchange(const std::vector<Message>& sends,
                                          const std::vector<Message>& receives) override {
    auto exchange = std::make_unique<PersistentExchange>(comm_, sends, receives);
    if (message_delay() > 0) return make_delayed_exchange(std::move(exchange));
    return exchange;
  }
  const std::vector<int>& nodes() const override { return nodes_; }
  int world_rank(int rank) const override { return world_ranks_[size_t(rank)]; }
  Parts alltoallv(const void* data, const std::vector<size_t>& bytes) override {
    // Ranks tell each other the lengths or, with the highest bit set, for how many ranks they name a length.
    constexpr uint64_t is_wrong = uint64_t(1) << 63;
    std::vector<uint64_t> sent(bytes.begin(), bytes.end()), told(static_cast<size_t>(size_));
    if (bytes.size() != size_t(size_)) sent.assign(size_t(size_), is_wrong | bytes.size());
    check(MPI_Alltoall(sent.data(), 1, MPI_UINT64_T, told.data(), 1, MPI_UINT64_T, comm_), "MPI_Alltoall");
    for (int rank = 0; rank < size_; ++rank)
      if ((told[size_t(rank)] & is_wrong) != 0)
        require_bytes_for_each_rank(size_t(told[size_t(rank)] & ~is_wrong), size_, world_rank(rank));
    Parts received{{}, {told.begin(), told.end()}};
    received.data.resize(std::accumulate(told.begin(), told.end(), size_t(0)));
    send_parts(comm_, static_cast<const std::byte*>(data), bytes, received);
    return received;
  }
  bool can_share_memory() const override { return true; }
  CommunicatorPtr node() override {
    MPI_Comm node;
    check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    if (pretended_nodes()) {
      MPI_Comm all = node;
      check(MPI_Comm_split(all, nodes_[size_t(rank_)], rank_, &node), "MPI_Comm_split");
      MPI_Comm_free(&all);
    }
    int size = 1;
    MPI_Comm_size(node, &size);
    std::vector<int> ranks(static_cast<size_t>(size));
    check(MPI_Allgather(&rank_, 1, MPI_INT, ranks.data(), 1, MPI_INT, node), "MPI_Allgather");
    return of_these(node, ranks);
  }

 protected:
  CommunicatorPtr make_subset(const std::vector<int>& ranks) override {
    const auto place = std::find(ranks.begin(), ranks.end(), rank_);
    const bool is_member = place != ranks.end();
    MPI_Comm part;
    check(MPI_Comm_split(comm_, is_member ? 0 : MPI_UNDEFINED, int(place - ranks.begin()), &part),
          "MPI_Comm_split");
    return is_member ? of_these(part, ranks) : nullptr;
  }

 private:
  /// @param ranks are those of this communicator that `part` has
  CommunicatorPtr of_these(MPI_Comm part, const std::vector<int>& ranks) const {
    std::vector<int> world_ranks;
    for (const int rank : ranks) world_ranks.push_back(world_rank(rank));
    return std::make_shared<MpiCommunicator>(part, nodes_of_subset(nodes_, ranks), std::move(world_ranks));
  }

  MPI_Comm comm_;
  MPI_Datatype exact_sum_type_;
  MPI_Op exact_sum_op_;
  std::vector<int> nodes_, world_ranks_;
  int rank_ = 0, size_ = 1;
};

/// This class starts MPI in a process that no launcher started. Such a process needs neither a daemon of Open
/// MPI beside it nor a folder for messages to it. All such processes of a user share one folder, which one
/// makes while another, at its end, removes it: the first then ends with "mkdir was unable to create the
/// desired directory". It looks for no network either, which takes a fifth of a second. Other MPI libraries
/// pass these by. What is set here, and what Open MPI sets beside it, goes again once MPI has started: an
/// mpirun that this process starts later (from a notebook, say) would take itself for a part of it and end
/// without a word.
class StartAlone {
 public:
  StartAlone() {
    for (const char* launched : {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK"})
      if (std::getenv(launched) != nullptr) return;
    is_alone_ = true;
    before_ = variables();
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "self", 0);
  }
  ~StartAlone() {
    if (!is_alone_) return;
    for (const std::string& name : variables())
      if (!before_.contains(name)) unsetenv(name.c_str());
  }
  StartAlone(const StartAlone&) = delete;
  StartAlone& operator=(const StartAlone&) = delete;

 private:
  /// Returns the names of the variables of Open MPI.
  static std::set<std::string> variables() {
    std::set<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      if (text.starts_with("OMPI_")) names.emplace(text.substr(0, text.find('=')));
    }
    return names;
  }
  bool is_alone_ = false;
  std::set<std::string> before_;
};

CommunicatorPtr make_world() {
  static bool is_prepared = false;  // what is refused may be tried again
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    const StartAlone alone;
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  }
  if (!is_prepared) prepare_end_of_job(MPI_COMM_WORLD, !initialized);
  is_prepared = true;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  require_all_processes(ranks);
  return std::make_shared<MpiCommunicator>(MPI_COMM_WORLD);
}

}  // namespace

CommunicatorPtr world() {
  static CommunicatorPtr communicator = make_world();
  return communicator;
}

/// Moves messages on: looking for a message that nobody sends makes the library look after those that
/// somebody does.
void move_messages() {
  if (exchanges_under_way == 0) return;
  int is_there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE);
}

std::string communication_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, size_t(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace trellis
