/// This is main() of every test program. With --file=test_x it runs the tests of test_x.cpp, of all files
/// that were compiled into the program. Under mpirun a test has failed if it failed on any rank; rank 0
/// prints.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "trellis/comm/communicator.hpp"

namespace {
/// Returns GoogleTest's filter for the tests of a file, "" where there are none.
std::string tests_of(const std::string& file) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(k);
      if (std::filesystem::path(test.file()).stem() == file)
        filter += std::string(filter.empty() ? "" : ":") + suite.name() + "." + test.name();
    }
  }
  return filter;
}

/// Chooses the tests of a file where the command line names one. A filter of GoogleTest's goes before.
bool choose_tests(int argc, char** argv) {
  const std::string option = "--file=";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind(option, 0) != 0) {
      std::cerr << argv[0] << ": unknown option " << word << "; expected " << option
                << "NAME or those of GoogleTest\n";
      return false;
    }
    const std::string filter = tests_of(word.substr(option.size()));
    if (filter.empty()) {
      std::cerr << argv[0] << ": there is no test of the file " << word.substr(option.size()) << "\n";
      return false;
    }
    if (::testing::GTEST_FLAG(filter) == "*") ::testing::GTEST_FLAG(filter) = filter;
  }
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!choose_tests(argc, argv)) return 2;
#ifdef TRELLIS_TEST_PARALLEL
  const trellis::CommunicatorPtr world = trellis::world();
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  class FailuresOnly final : public ::testing::EmptyTestEventListener {
   public:
    explicit FailuresOnly(int rank) : rank_{rank} {}
    void OnTestPartResult(const ::testing::TestPartResult& result) override {
      if (result.failed())
        std::cerr << "rank " << rank_ << ": " << (result.file_name() ? result.file_name() : "") << ":"
                  << result.line_number() << ": " << result.message() << std::endl;
    }

   private:
    int rank_;
  };
  if (world->rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(world->rank()));
  }
  return world->any(RUN_ALL_TESTS() != 0) ? 1 : 0;
#else
  return RUN_ALL_TESTS();
#endif
}
