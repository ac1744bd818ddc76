#pragma once
/// The kernel exchanges the spins of slots in some samples: these are the accepted steps of parallel
/// tempering.
#include "trellis/kernels/glass/spin_neighbourhood.hpp"

namespace trellis {

struct SpinExchangeCall {
  RawField spins;                   ///< they have one parity
  const int32_t* coords = nullptr;  ///< it has [block][4]: sub-lattice coordinates of the block
  int samples = 1;                  ///< it is the extent of the sub-lattice in the fourth direction
  const int32_t* pairs = nullptr;   ///< they are [pair][2]: slots
  int count = 0;                    ///< there are so many pairs
  /// It is 1 where the spins of a pair are exchanged, else 0: [pair][sample][lane].
  const double* is_exchanged = nullptr;
};

template <class Layout, class Storage>
class SpinExchange {
 public:
  using Array = SiteArray<Layout, Storage, 3>;
  using Real = typename Array::Real;
  using Double = LaneReal<double, Array::W>;
  explicit SpinExchange(const SpinExchangeCall& call) : call_{call}, spins_{call.spins} {}

  TRELLIS_SITE_FN void operator()(int block) const {
    for (int pair = 0; pair < call_.count; ++pair) exchange(block, pair);
  }

 private:
  TRELLIS_SITE_FN void exchange(int block, int pair) const {
    const int sample = call_.coords[4 * size_t(block) + 3], a = call_.pairs[2 * pair],
              b = call_.pairs[2 * pair + 1];
    const Real is_exchanged = convert_real<typename Array::Scalar>(load_real<Double>(
        call_.is_exchanged + (size_t(pair) * size_t(call_.samples) + size_t(sample)) * Array::W));
    Real first[3], second[3], new_first[3], new_second[3];
    spins_.load(block, a, first);
    spins_.load(block, b, second);
    unroll<3>([&](auto i) TRELLIS_INLINE_LAMBDA {
      new_first[i] = where_zero(is_exchanged, first[i], second[i]);
      new_second[i] = where_zero(is_exchanged, second[i], first[i]);
    });
    spins_.store(block, a, new_first);
    spins_.store(block, b, new_second);
  }

  SpinExchangeCall call_;
  Array spins_;
};

struct SiteRange;
template <class Layout, class Storage>
void launch_spin_exchange(const SpinExchangeCall& call, const SiteRange& blocks);

}  // namespace trellis
