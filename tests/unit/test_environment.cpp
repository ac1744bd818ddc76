/// Numbers from environment variables are not cut, wrapped or passed over.
#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <string>

#include "trellis/base/environment.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/thread_limit.hpp"
#include "trellis/device/threads.hpp"

namespace trellis {
namespace in_test_environment {

template <class F>
std::string what_is_thrown(const F& f) {
  try {
    f();
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Environment, whole_numbers) {
  EXPECT_EQ(whole_number("12"), 12);
  EXPECT_EQ(whole_number(" -7\t"), -7);
  EXPECT_EQ(whole_number("2147483647"), INT_MAX);
  for (const char* text :
       {"", " ", "2147483648", "4294967298", "99999999999999999999", "2x", "2.0", "1 2", "two"})
    EXPECT_EQ(whole_number(text), std::nullopt) << text;
}

TEST(Environment, variables) {
  constexpr const char* name = "TRELLIS_TEST_NUMBER";
  unsetenv(name);
  EXPECT_EQ(environment_number(name, 1, 9), std::nullopt);
  setenv(name, "", 1);
  EXPECT_EQ(environment_number(name, 1, 9), std::nullopt);
  for (const char* text : {"1", "9"}) {
    setenv(name, text, 1);
    EXPECT_EQ(environment_number(name, 1, 9), std::stoi(text));
  }
  for (const char* text : {"0", "10", "-1", "4294967298", "nine"}) {
    setenv(name, text, 1);
    EXPECT_EQ(what_is_thrown([&] { environment_number(name, 1, 9); }),
              std::string("TRELLIS_TEST_NUMBER: expected a whole number from 1 to 9, found ") + text);
  }
  setenv(name, "0", 1);
  EXPECT_EQ(what_is_thrown([&] { environment_number(name, 1, INT_MAX); }),
            "TRELLIS_TEST_NUMBER: expected a whole number from 1 on, found 0");
  unsetenv(name);
}

TEST(Environment, threads) {
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string value = before == nullptr ? "" : before;
  const std::string most = std::to_string(most_threads()), more = std::to_string(most_threads() + 1);
  EXPECT_EQ(most_threads() % 8, 0);
  for (const std::string& text :
       {std::string(), std::string("1"), std::string(" 2 "), std::string("2,1"), most}) {
    setenv("OMP_NUM_THREADS", text.c_str(), 1);
    EXPECT_NO_THROW(require_sound_environment()) << text;
  }
  for (const std::string& text :
       {more, std::string("0"), std::string("-2"), std::string("99999999999"), std::string("4294967298"),
        std::string("1,4294967298"), std::string("two"), std::string("2,"), std::string(",2")}) {
    setenv("OMP_NUM_THREADS", text.c_str(), 1);
    const std::string found = what_is_thrown(require_sound_environment);
    EXPECT_EQ(
        found.find("OMP_NUM_THREADS: expected a whole number from 1 to " + most + " (this machine has "), 0u)
        << found;
    EXPECT_NE(found.find("found " + text), std::string::npos) << found;
  }
  setenv("OMP_NUM_THREADS", value.c_str(), 1);
  EXPECT_THROW(set_thread_count(most_threads() + 1), BadArgument);
  EXPECT_THROW(set_thread_count(0), BadArgument);
}

}  // namespace in_test_environment
}  // namespace trellis
