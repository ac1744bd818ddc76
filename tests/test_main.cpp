/// This is main() of every test program. Under mpirun a test has failed if it failed on any rank; rank 0
/// prints.
#include <gtest/gtest.h>

#include "trellis/comm/communicator.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
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
