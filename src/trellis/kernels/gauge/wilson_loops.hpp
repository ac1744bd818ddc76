#pragma once
/// Wilson loops are built of these two steps. Fields of four matrices a site are used slot by slot.
///
///   transport   out[o](x) = A[a](x) B[b](x + mu)              198 flop and 3 matrices a slot
///   trace       sum_x Re tr(A[a](x) B[b](x)^dagger) / 3        36 flop and 2 matrices a slot
#include <array>

#include "trellis/algebra/su3.hpp"
#include "trellis/base/exact_sum.hpp"
#include "trellis/kernels/gauge/gauge_call.hpp"

namespace trellis {

struct TransportStep {
  int out = 0, left = 0, right = 0;  ///< they are slots
  int mu = 0;
};

struct TransportCall {
  RawField left;
  RawField right;  ///< it has an up-to-date halo
  RawField out;
  ExtendedTables tables;
  std::array<TransportStep, 4> steps;
  int count = 0;
};

template <class Layout, class Storage>
class Transport {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  explicit Transport(const TransportCall& call)
      : call_{call},
        left_{call.left, call.tables},
        right_{call.right, call.tables},
        out_{call.out, call.tables} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    const Position x = left_.at(block);
    for (int k = 0; k < call_.count; ++k) {
      const TransportStep& s = call_.steps[size_t(k)];
      out_.store(block, s.out, left_.link(x, s.left) * right_.link(right_.step(x, s.mu, 1), s.right));
    }
  }

 private:
  TransportCall call_;
  Gauge left_, right_, out_;
};

struct LoopTraceCall {
  RawField left, right;
  ExtendedTables tables;
  std::array<std::array<int, 2>, 4> slots;  ///< they belong to left and right
  int count = 0;
};

/// The term is the sum over the pairs of slots at the site.
template <class Layout, class Storage>
class LoopTrace {
 public:
  using Gauge = GaugeView<Layout, Storage>;
  using Real = typename Gauge::Real;
  explicit LoopTrace(const LoopTraceCall& call)
      : call_{call}, left_{call.left, call.tables}, right_{call.right, call.tables} {}

  TRELLIS_SITE_FN std::array<Real, 1> operator()(int block) const {
    const Position x = left_.at(block);
    Real sum(0.0);
    for (int k = 0; k < call_.count; ++k)
      sum = sum + real_trace_mul_dagger(left_.link(x, call_.slots[size_t(k)][0]),
                                        right_.link(x, call_.slots[size_t(k)][1]));
    return {Real(1.0 / 3.0) * sum};
  }

 private:
  LoopTraceCall call_;
  Gauge left_, right_;
};

/// @pre out is another field than left and right
template <class Layout, class Storage>
void launch_transport(const TransportCall& call, const SiteRange& inner_blocks);
template <class Layout, class Storage>
void launch_loop_trace(const LoopTraceCall& call, const SiteRange& inner_blocks, ExactSum* sum);

}  // namespace trellis
