/// These tests cover the communicator of one process, and the errors that every communicator must report.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/comm/launcher.hpp"
#include "trellis/comm/single/single_communicator.hpp"

namespace trellis {
namespace in_test_communicator {

TEST(SingleCommunicator, collectives_of_one) {
  SingleCommunicator comm;
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.size(), 1);
  ExactSum sums[2];
  sums[0].add(1.25);
  sums[1].add(std::numeric_limits<double>::quiet_NaN());
  comm.sum(sums, 2);
  EXPECT_EQ(sums[0].value(), 1.25);
  EXPECT_TRUE(std::isnan(sums[1].value()));
  EXPECT_EQ(comm.maximum(-3.5), -3.5);
  EXPECT_EQ(comm.minimum(-3.5), -3.5);
  unsigned word = 0xdeadbeef;
  comm.exclusive_or(&word, 1);
  EXPECT_EQ(word, 0xdeadbeef);
  EXPECT_TRUE(comm.any(true));
  EXPECT_FALSE(comm.any(false));
  comm.barrier();
}

TEST(SingleCommunicator, an_exchange_copies_by_tag_each_time) {
  SingleCommunicator comm;
  std::array<double, 3> a{1, 2, 3}, b{4, 5, 6}, to_a{}, to_b{};
  const auto exchange =
      comm.make_exchange({{0, 7, a.data(), sizeof(a)}, {0, 9, b.data(), sizeof(b)}},
                         {{0, 9, to_b.data(), sizeof(to_b)}, {0, 7, to_a.data(), sizeof(to_a)}});
  exchange->start();
  exchange->wait();
  EXPECT_EQ(to_a, a);
  EXPECT_EQ(to_b, b);
  a[1] = -8;  // requests persist: the same buffers have new contents
  exchange->start();
  exchange->wait();
  EXPECT_EQ(to_a, a);
}

TEST(SingleCommunicator, an_exchange_has_memory_for_messages_without) {
  SingleCommunicator comm;
  const auto exchange = comm.make_exchange({{0, 7, nullptr, 24}, {0, 9, nullptr, 8}},
                                           {{0, 9, nullptr, 8}, {0, 7, nullptr, 24}});
  for (double turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 3; ++i) static_cast<double*>(exchange->outgoing(0))[i] = turn + i;
    *static_cast<double*>(exchange->outgoing(1)) = -turn;
    exchange->start();
    exchange->wait();
    EXPECT_EQ(*static_cast<double*>(exchange->incoming(0)), -turn);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(static_cast<double*>(exchange->incoming(1))[i], turn + i);
  }
}

TEST(SingleCommunicator, messages_that_do_not_match_are_refused) {
  SingleCommunicator comm;
  double x[2] = {}, y[2] = {};
  EXPECT_THROW(comm.make_exchange({{0, 1, x, 16}}, {{0, 1, y, 8}}), BadArgument);
  EXPECT_THROW(comm.make_exchange({{0, 1, x, 16}}, {{0, 2, y, 16}}), BadArgument);
  EXPECT_THROW(comm.make_exchange({{0, 1, x, 16}}, {}), BadArgument);
  EXPECT_NO_THROW(comm.make_exchange({}, {}));
}

/// This class takes away the variables of every launcher, and puts them back at the end.
class WithoutLauncher {
 public:
  WithoutLauncher() : names_{"TRELLIS_SINGLETONS"} {
    for (const auto& [size, number] : launcher_variables()) {
      names_.push_back(size);
      names_.push_back(number);
    }
    for (const std::string& name : names_) {
      const char* value = std::getenv(name.c_str());
      before_.emplace_back(value == nullptr ? "" : value);
      unsetenv(name.c_str());
    }
  }
  ~WithoutLauncher() {
    for (size_t i = 0; i < before_.size(); ++i)
      before_[i].empty() ? unsetenv(names_[i].c_str()) : setenv(names_[i].c_str(), before_[i].c_str(), 1);
  }

 private:
  std::vector<std::string> names_, before_;
};

std::string refusal(void (*require)()) {
  try {
    require();
  } catch (const NotAvailable& error) {
    return error.what();
  }
  return "";
}
void require_ranks_of_mpi() { require_all_processes(1); }

TEST(Launcher, one_of_several_processes_is_told_by_the_environment) {
  const WithoutLauncher nothing;
  EXPECT_EQ(launched_processes(), 1);
  EXPECT_EQ(refusal(require_single_process), "");
  EXPECT_EQ(refusal(require_ranks_of_mpi), "");
  for (const auto& [size, number] : launcher_variables()) {
    const WithoutLauncher others;
    setenv(size.c_str(), "3", 1);
    EXPECT_EQ(launched_processes(), 1) << size << " alone: of a job, say";
    setenv(number.c_str(), "0", 1);
    EXPECT_EQ(launched_processes(), 3) << size;
    EXPECT_EQ(
        refusal(require_single_process).find("3 processes were started together, but this build has no MPI"),
        0u);
    EXPECT_EQ(refusal(require_ranks_of_mpi).find("3 processes were started together, but MPI sees 1 in each"),
              0u);
    EXPECT_NO_THROW(require_all_processes(3));
    setenv("TRELLIS_SINGLETONS", "1", 1);
    EXPECT_EQ(refusal(require_single_process), "");
    EXPECT_EQ(refusal(require_ranks_of_mpi), "");
    EXPECT_THROW(require_all_processes(3), BadArgument);
    unsetenv("TRELLIS_SINGLETONS");
    setenv(size.c_str(), "1", 1);
    EXPECT_EQ(refusal(require_single_process), "");
    for (const char* text : {"4294967298", "0", "many"}) {
      setenv(size.c_str(), text, 1);
      EXPECT_THROW(launched_processes(), BadArgument) << size << "=" << text;
    }
  }
}

TEST(Launcher, the_innermost_launcher_counts) {
  const WithoutLauncher nothing;
  int processes = 9;  // the order is from the outermost to the innermost
  const auto& variables = launcher_variables();
  for (auto pair = variables.rbegin(); pair != variables.rend(); ++pair, --processes) {
    setenv(pair->first.c_str(), std::to_string(processes).c_str(), 1);
    setenv(pair->second.c_str(), "2", 1);
    EXPECT_EQ(launched_processes(), processes) << pair->first;
  }
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(refusal(require_ranks_of_mpi), "") << "mpirun -n 1 in a step of several tasks";
}

TEST(Communicator, agreed_errors_carry_the_message) {
  SingleCommunicator comm;
  EXPECT_NO_THROW(comm.agree_on_error(""));
  try {
    comm.agree_on_error("the checksum is wrong");
    FAIL() << "an error must throw";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("the checksum is wrong"), std::string::npos);
  }
}

}  // namespace in_test_communicator
}  // namespace trellis
