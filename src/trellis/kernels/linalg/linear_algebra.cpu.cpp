// instantiate: STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/linalg/linear_algebra.hpp"

#include <array>

#include "trellis/device/cpu/for_each_site.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/any_reals.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int N, bool is_complex>
void combine(const CombineCall& call, const SiteRange& sites) {
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  using Real = typename Kernel::Real;
  const typename Kernel::Array out(call.out), x(call.x), y(call.y);
  if (call.norms == nullptr) {
    cpu::for_each_site(sites, [&](int block) {
      for (int slot = 0; slot < call.slots; ++slot) {
        Real r[N];
        Kernel::template combine<is_complex>(out, x, y, call.has_y, call.a + 2 * slot, call.b + 2 * slot,
                                             block, slot, r);
      }
    });
    return;
  }
  for (int slot = 0; slot < call.slots; ++slot)
    cpu::reduce_sites<1>(
        sites,
        [&](int block) {
          Real r[N];
          Kernel::template combine<is_complex>(out, x, y, call.has_y, call.a + 2 * slot, call.b + 2 * slot,
                                               block, slot, r);
          if constexpr (Kernel::Array::rounds)
            return std::array{Kernel::norm_term(out, block, slot)};
          else
            return std::array{Kernel::norm_term(r)};
        },
        call.norms + slot);
}

template <class Layout, class Storage, int N>
void dot(const DotCall& call, const SiteRange& sites) {
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  const typename Kernel::Array x(call.x), y(call.y);
  for (int slot = 0; slot < call.slots; ++slot) {
    if (y.is_null()) {
      cpu::reduce_sites<1>(
          sites, [&](int block) { return std::array{Kernel::norm_term(x, block, slot)}; }, call.re + slot);
      continue;
    }
    ExactSum sums[2] = {call.re[slot], call.im[slot]};
    cpu::reduce_sites<2>(
        sites,
        [&](int block) {
          std::array<typename Kernel::Term, 2> terms;
          Kernel::dot_term(x, y, block, slot, terms[0], terms[1]);
          return terms;
        },
        sums);
    call.re[slot] = sums[0];
    call.im[slot] = sums[1];
  }
}

template <class Layout, class Storage, int N>
void update(const UpdateCall& call, const SiteRange& sites) {
  using Kernel = LinearAlgebra<Layout, Storage, N>;
  using Scalar = typename Kernel::Scalar;
  const typename Kernel::Array x(call.x), r(call.r), p(call.p);
  cpu::for_each_site(sites, [&](int block) {
    for (int slot = 0; slot < call.slots; ++slot)
      Kernel::update(x, r, p, Scalar(call.alpha[slot]), Scalar(call.beta[slot]), block, slot);
  });
}

template <class Layout, class Storage, bool is_complex>
void combine_any(const CombineCall& call, const SiteRange& sites) {
  using Kernel = AnyReals<Layout, Storage>;
  const typename Kernel::Elements out(call.out, call.reals), x(call.x, call.reals), y(call.y, call.reals);
  const auto combine_site = [&](int block, int slot) {
    Kernel::template combine<is_complex>(out, x, y, call.has_y, call.a + 2 * slot, call.b + 2 * slot, block,
                                         slot);
  };
  for (int slot = 0; slot < call.slots; ++slot) {
    if (call.norms == nullptr) {
      cpu::for_each_site(sites, [&](int block) { combine_site(block, slot); });
      continue;
    }
    cpu::reduce_sites<1>(
        sites,
        [&](int block) {
          combine_site(block, slot);
          return std::array{Kernel::norm_term(out, block, slot)};
        },
        call.norms + slot);
  }
}

template <class Layout, class Storage>
void dot_any(const DotCall& call, const SiteRange& sites) {
  using Kernel = AnyReals<Layout, Storage>;
  const typename Kernel::Elements x(call.x, call.reals), y(call.y, call.reals);
  for (int slot = 0; slot < call.slots; ++slot) {
    if (y.is_null()) {
      cpu::reduce_sites<1>(
          sites, [&](int block) { return std::array{Kernel::norm_term(x, block, slot)}; }, call.re + slot);
      continue;
    }
    ExactSum sums[2] = {call.re[slot], call.im[slot]};
    cpu::reduce_sites<2>(
        sites,
        [&](int block) {
          std::array<typename Kernel::Term, 2> terms;
          Kernel::dot_term(x, y, block, slot, terms[0], terms[1]);
          return terms;
        },
        sums);
    call.re[slot] = sums[0];
    call.im[slot] = sums[1];
  }
}

template <class Layout, class Storage>
void update_any(const UpdateCall& call, const SiteRange& sites) {
  using Kernel = AnyReals<Layout, Storage>;
  using Scalar = typename Kernel::Scalar;
  const typename Kernel::Elements x(call.x, call.reals), r(call.r, call.reals), p(call.p, call.reals);
  cpu::for_each_site(sites, [&](int block) {
    for (int slot = 0; slot < call.slots; ++slot)
      Kernel::update(x, r, p, Scalar(call.alpha[slot]), Scalar(call.beta[slot]), block, slot);
  });
}
}  // namespace

template <class Layout, class Storage>
void launch_combine(const CombineCall& call, const SiteRange& sites) {
  if (call.reals == 24)
    return call.is_complex ? combine<Layout, Storage, 24, true>(call, sites)
                           : combine<Layout, Storage, 24, false>(call, sites);
  if (call.reals == 6)
    return call.is_complex ? combine<Layout, Storage, 6, true>(call, sites)
                           : combine<Layout, Storage, 6, false>(call, sites);
  call.is_complex ? combine_any<Layout, Storage, true>(call, sites)
                  : combine_any<Layout, Storage, false>(call, sites);
}
template <class Layout, class Storage>
void launch_dot(const DotCall& call, const SiteRange& sites) {
  if (call.reals == 24) return dot<Layout, Storage, 24>(call, sites);
  if (call.reals == 6) return dot<Layout, Storage, 6>(call, sites);
  dot_any<Layout, Storage>(call, sites);
}
template <class Layout, class Storage>
void launch_update(const UpdateCall& call, const SiteRange& sites) {
  if (call.reals == 24) return update<Layout, Storage, 24>(call, sites);
  if (call.reals == 6) return update<Layout, Storage, 6>(call, sites);
  update_any<Layout, Storage>(call, sites);
}

template void launch_combine<InstantiatedLayout, InstantiatedStorage>(const CombineCall&, const SiteRange&);
template void launch_dot<InstantiatedLayout, InstantiatedStorage>(const DotCall&, const SiteRange&);
template void launch_update<InstantiatedLayout, InstantiatedStorage>(const UpdateCall&, const SiteRange&);

}  // namespace trellis
