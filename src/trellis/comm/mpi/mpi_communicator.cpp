/// Communicator over MPI: persistent requests, exact sums by a user-defined reduction.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/exchange_policy.hpp"
#include "trellis/comm/launcher.hpp"
#include "trellis/comm/message_memory.hpp"
#include "trellis/comm/mpi/end_of_job.hpp"
#include "trellis/comm/mpi/shared_exchange.hpp"
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
  }
  ~PersistentExchange() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    for (MPI_Request& r : requests_) MPI_Request_free(&r);
  }
  void start() override {
    count_messages(sends_);
    check(MPI_Startall(int(requests_.size()), requests_.data()), "MPI_Startall");
  }
  void wait() override {
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
  std::vector<MPI_Request> requests_;
};

std::unique_ptr<Exchange> make_persistent(MPI_Comm comm, const std::vector<Message>& sends,
                                          const std::vector<Message>& receives) {
  return std::make_unique<PersistentExchange>(comm, sends, receives);
}

/// By shared memory; TRELLIS_RANKS_PER_NODE says otherwise (tests, and machines whose nodes have domains).
std::vector<int> find_nodes(MPI_Comm comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int first = rank;
  if (const auto ranks = environment_number("TRELLIS_RANKS_PER_NODE", 1, INT_MAX)) {
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

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) : comm_{comm} {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Type_contiguous(int(sizeof(ExactSum)), MPI_BYTE, &exact_sum_type_), "MPI_Type_contiguous");
    check(MPI_Type_commit(&exact_sum_type_), "MPI_Type_commit");
    check(MPI_Op_create(merge_exact_sums, 1, &exact_sum_op_), "MPI_Op_create");
    nodes_ = find_nodes(comm_);
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
    if (size_ == 1) return;
    check(MPI_Allreduce(MPI_IN_PLACE, sums, count, exact_sum_type_, exact_sum_op_, comm_), "MPI_Allreduce");
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
    return make_persistent(comm_, sends, receives);
  }
  const std::vector<int>& nodes() const override { return nodes_; }
  /// Null on all ranks where some rank gets no shared memory, or Error if it is required. Collective.
  std::unique_ptr<Exchange> make_shared(const std::vector<Message>& sends,
                                        const std::vector<Message>& receives, SharedUse use,
                                        bool is_required) {
    if (!segments_) segments_ = std::make_unique<SharedSegments>(comm_);
    auto exchange = make_shared_exchange(comm_, *segments_, use, sends, receives, make_persistent);
    if (!any(exchange == nullptr)) return exchange;
    const std::string reason = "ranks of a node cannot share memory for halos: " +
                               (exchange ? std::string("so it is on another node") : segments_->failure());
    if (is_required) throw Error(reason);
    if (!has_told_ && !exchange && nodes_[size_t(rank_)] == rank_)
      std::fprintf(stderr, "trellis: %s. They travel as MPI messages.\n", reason.c_str());
    has_told_ = true;
    return nullptr;
  }

 private:
  MPI_Comm comm_;
  MPI_Datatype exact_sum_type_;
  MPI_Op exact_sum_op_;
  std::unique_ptr<SharedSegments> segments_;  ///< made with the first shared exchange
  bool has_told_ = false;                     ///< that memory cannot be shared
  std::vector<int> nodes_;
  int rank_ = 0, size_ = 1;
};

/// Where a core gets back lines that another one has written to as fast as it reads them
/// (shared_exchange.cpp).
bool lines_return_fast() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

CommunicatorPtr make_world() {
  static bool is_prepared = false;  // what is refused may be tried again
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
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

std::unique_ptr<Exchange> make_halo_exchange(Communicator& communicator, const std::vector<Message>& sends,
                                             const std::vector<Message>& receives, Backend backend) {
  auto* mpi = dynamic_cast<MpiCommunicator*>(&communicator);
  const ExchangePolicy policy = exchange_policy();
  const bool is_automatic = policy == ExchangePolicy::automatic;
  if (mpi == nullptr || policy == ExchangePolicy::persistent || (is_automatic && backend == Backend::cuda))
    return communicator.make_exchange(sends, receives);
  const bool is_copied = is_automatic ? !lines_return_fast() : policy == ExchangePolicy::copied;
  const SharedUse use = is_copied ? SharedUse::copied : SharedUse::in_place;
  if (auto exchange = mpi->make_shared(sends, receives, use, !is_automatic)) return exchange;
  return communicator.make_exchange(sends, receives);
}

std::string communication_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, size_t(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace trellis
