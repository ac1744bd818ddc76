#pragma once
/// This file compares what operators and solvers say that they cost with what is sent, summed and launched.
#include <gtest/gtest.h>

#include "trellis/base/error.hpp"
#include "trellis/comm/traffic.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/field/halo/field_redistribution.hpp"
#include "trellis/solver/solve.hpp"

namespace trellis::test {

struct Counted {
  int64_t messages = 0, sums = 0, launches = 0;
  std::vector<int64_t> bytes_to;  ///< they stand by rank
};

/// Returns what f() sends, sums and launches.
template <class F>
Counted count(const F& f) {
  traffic().bytes_to.resize(size_t(world()->size()), 0);
  const Traffic before = traffic();
  const int64_t launched = launches();
  f();
  Counted c{traffic().messages - before.messages, traffic().sums - before.sums, launches() - launched,
            traffic().bytes_to};
  for (size_t i = 0; i < c.bytes_to.size(); ++i) c.bytes_to[i] -= before.bytes_to[i];
  return c;
}

inline void expect_cost(const Counted& found, const Cost& cost, const Geometry& g, const std::string& where) {
  EXPECT_EQ(found.messages, cost.message_count()) << where;
  EXPECT_EQ(found.sums, cost.sums) << where;
  EXPECT_EQ(found.launches, cost.launches) << where;
  std::vector<int64_t> bytes_to(found.bytes_to.size(), 0);
  for (const SentMessage& m : cost.messages) {
    const int rank = m.mu == to_a_rank ? m.step : g.neighbour_rank(m.mu, m.step);
    bytes_to[size_t(rank)] += m.count * int64_t(m.bytes);
  }
  EXPECT_EQ(found.bytes_to, bytes_to) << where;
}

/// Checks apply and apply_dagger, without sums and with each of them.
inline void check_operator(const LinearOperator& A, const std::string& where) {
  const Geometry& g = A.domain_lattice()->geometry();
  for (const int columns : {1, 3}) {
    const SpinorField in = A.make_field(columns);
    SpinorField out = A.make_field(columns);
    for (const bool is_dagger : {false, true})
      for (const int wanted : {0, 1, 2}) {
        ColumnSums sums{.wants_norm2 = (wanted & 1) != 0, .wants_real_dot = (wanted & 2) != 0};
        const Counted found =
            count([&] { is_dagger ? A.apply_dagger(out, in, sums) : A.apply(out, in, sums); });
        expect_cost(found, (is_dagger ? A.dagger_cost(columns) : A.cost(columns)) + sums.cost, g,
                    message(where, " ", A.name(), ", ", columns, " columns, ", is_dagger, " ", wanted));
        EXPECT_EQ(sums.norm2.size(), sums.wants_norm2 ? size_t(columns) : 0u);
        EXPECT_EQ(sums.real_dot.size(), sums.wants_real_dot ? size_t(columns) : 0u);
      }
  }
}

/// Checks that a solve costs what it sends, sums and launches. What stays for the next one, as copies of the
/// operator in other storages, is made before.
inline void check_solve(const LinearOperator& A, const SpinorField& b, const SolverSpec& spec) {
  const OperatorCopies copies(A);
  SpinorField x = SpinorField::like(b), first = x;
  solve(spec, copies, first, b);
  SolveReport report;
  const Counted found = count([&] { report = solve(spec, copies, x, b); });
  EXPECT_GE(report.iterations, 7) << report.method;
  EXPECT_GT(report.cost.sums, report.iterations) << report.method;
  expect_cost(found, report.cost, b.geometry(), message(A.name(), ", ", report.method));
}

}  // namespace trellis::test
