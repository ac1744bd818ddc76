/// A rank ends with a barrier that does not block, so that those who wait in it can tell who does not come.
#include "trellis/comm/mpi/end_of_job.hpp"
#include "trellis/base/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"
#include "trellis/comm/communicator.hpp"
#include "trellis/comm/end_of_job.hpp"

namespace trellis {

namespace {
constexpr int default_seconds = 60, most_seconds = 1000000;
// These are seconds.
constexpr double until_abort = 5;    // all ranks come to the same end in this time, also on a busy machine
constexpr double until_answers = 1;  // a rank that has ended answers within this time
constexpr double most_sleep = 5e-3;

/// Returns "rank 3", or "ranks 0-2, 5".
std::string named(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += last == i ? message(ranks[i]) : message(ranks[i], "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

/// This is the end of this rank among the others'.
class EndOfRank {
 public:
  EndOfRank(MPI_Comm comm, int seconds) : process_{getpid()}, until_told_{seconds} {
    MPI_Comm_dup(comm, &comm_);  // its messages meet no others
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    heard_.resize(size_t(size_));
  }

  bool is_open() const {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return !is_over_ && !finalized && getpid() == process_;  // a fork's child is no rank
  }
  int size() const { return size_; }
  /// Leaves: what comes is no end to be waited for, since the job is ended from here.
  void leave() { is_over_ = true; }

  void wait(int status) {
    if (is_over_.exchange(true)) return;
    MPI_Request all;
    if (MPI_Ibarrier(comm_, &all) != MPI_SUCCESS) return;
    const Stopwatch watch;
    double sleep = 0;
    for (int is_done = 0;;) {
      if (MPI_Test(&all, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
      listen();
      if (is_done) return;
      const double passed = watch.seconds();
      if (status != 0 && passed > std::min(until_abort, double(until_told_))) abort(status);
      if (status == 0 && passed > until_told_) tell();
      std::this_thread::sleep_for(std::chrono::duration<double>(sleep));
      sleep = std::min(most_sleep, 1.25 * sleep + (passed > 1e-3 ? 5e-5 : 0));
    }
  }

 private:
  enum Note : int { answer = 1, question = 2 };

  void abort(int status) {
    std::fprintf(stderr,
                 "trellis: rank %d of %d ends with status %d and other ranks do not: the job is ended\n",
                 rank_, size_, status);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, status);
  }

  void send(Note note) {
    if (own_ != 0) return;
    own_ = note;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      MPI_Request request;
      MPI_Isend(&own_, 1, MPI_INT, rank, 0, comm_, &request);
      MPI_Request_free(&request);
    }
  }

  /// Takes notes, and answers the first one.
  void listen() {
    for (int is_there = 1;;) {
      MPI_Status from;
      if (MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &is_there, &from) != MPI_SUCCESS || !is_there) return;
      int note = 0;
      MPI_Recv(&note, 1, MPI_INT, from.MPI_SOURCE, 0, comm_, MPI_STATUS_IGNORE);
      heard_[size_t(from.MPI_SOURCE)] = note;
      send(answer);
    }
  }

  /// Asks who has ended, and later says so, if no other rank asked first.
  void tell() {
    if (!asked_at_) {
      send(question);
      asked_at_ = seconds_now();
    }
    if (has_told_ || seconds_now() - *asked_at_ < until_answers) return;
    has_told_ = true;
    heard_[size_t(rank_)] = own_;
    if (std::find(heard_.begin(), heard_.end(), question) != heard_.begin() + rank_) return;
    std::vector<int> ended, others;
    for (int rank = 0; rank < size_; ++rank) (heard_[size_t(rank)] != 0 ? ended : others).push_back(rank);
    if (others.empty()) return;
    std::fprintf(
        stderr,
        "trellis: %s ended with status 0, and %s did not within %d s: if they wait for each other, the "
        "job never ends. All ranks must make the same calls (TRELLIS_END_SECONDS sets the seconds)\n",
        named(ended).c_str(), named(others).c_str(), until_told_);
    std::fflush(stderr);
  }

  MPI_Comm comm_;
  pid_t process_;
  int until_told_;  ///< it is in seconds
  int rank_ = 0, size_ = 1;
  std::atomic<bool> is_over_{false};
  int own_ = 0;             ///< the note that was sent
  std::vector<int> heard_;  ///< each rank has its note here
  std::optional<double> asked_at_;
  bool has_told_ = false;
};

EndOfRank* the_end = nullptr;  // it lives as long as the process
bool is_mpi_ended_here = false;
pid_t process_of_mpi = 0;

void at_exit(int status, void*) {
  if (getpid() != process_of_mpi) return;
  end_rank(status & 0xff);  // the system keeps so much of it
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (is_mpi_ended_here && !finalized) MPI_Finalize();
}
}  // namespace

void prepare_end_of_job(MPI_Comm comm, bool ends_mpi) {
  process_of_mpi = getpid();
  is_mpi_ended_here = ends_mpi;
#ifdef __GLIBC__
  on_exit(at_exit, nullptr);
#else  // nobody tells the status: a rank's end with another one is told of, and does not end the job
  std::atexit([] { at_exit(0, nullptr); });
#endif
  int size = 1;
  MPI_Comm_size(comm, &size);
  if (size == 1) return;
  the_end = new EndOfRank(
      comm, environment_number("TRELLIS_END_SECONDS", 1, most_seconds).value_or(default_seconds));
}

bool is_one_of_several_ranks() { return the_end != nullptr && the_end->is_open(); }

void end_rank(int status) {
  if (is_one_of_several_ranks()) the_end->wait(status);
}

void abort_all_ranks(int status) {
  if (the_end != nullptr) the_end->leave();
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace trellis
