// instantiate: BACKEND=cpu STORAGE=double LANES=1,4,8,16
// instantiate: BACKEND=cuda STORAGE=double
#include "trellis/kernels/gauge/momentum.hpp"

#include "trellis/device/launch_links.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

template <class Layout, class Storage>
void launch_random_momenta(const RandomMomentaCall& call, const SiteRange& inner_blocks) {
  const RandomMomenta<Layout, Storage> kernel(call.momenta, call.sites, call.key, call.trajectory);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_link_drift(const GaugeCall& gauge, const RawField& P, double step,
                       const SiteRange& inner_blocks) {
  const LinkDrift<Layout, Storage> kernel(gauge, P, step);
  if constexpr (launch::is_on_gpu<Layout>)
    launch::for_each_link<4>(inner_blocks, kernel);
  else
    launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_algebra_axpy(const RawField& out, const RawField& in, double coefficient,
                         const SiteRange& inner_blocks) {
  const AlgebraAxpy<Layout, Storage> kernel(out, in, coefficient);
  launch::for_each_site(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_algebra_dot(const RawField& P, const RawField& Q, const SiteRange& inner_blocks, ExactSum* sum) {
  const AlgebraDot<Layout, Storage> kernel(P, Q);
  launch::reduce_sites<1>(inner_blocks, kernel, sum);
}

template <class Layout, class Storage>
double launch_algebra_maximum(const RawField& P, const SiteRange& inner_blocks) {
  const AlgebraMaximum<Layout, Storage> kernel(P);
  return launch::maximum_over_sites(inner_blocks, kernel);
}

template <class Layout, class Storage>
void launch_derivative_projection(const RawField& force, const GaugeCall& gauge, const RawField& G,
                                  double coefficient, const SiteRange& inner_blocks) {
  const DerivativeProjection<Layout, Storage> kernel(force, gauge, G, coefficient);
  launch::for_each_site(inner_blocks, kernel);
}

using L = InstantiatedLayout;
using S = InstantiatedStorage;
template void launch_random_momenta<L, S>(const RandomMomentaCall&, const SiteRange&);
template void launch_link_drift<L, S>(const GaugeCall&, const RawField&, double, const SiteRange&);
template void launch_algebra_axpy<L, S>(const RawField&, const RawField&, double, const SiteRange&);
template void launch_algebra_dot<L, S>(const RawField&, const RawField&, const SiteRange&, ExactSum*);
template double launch_algebra_maximum<L, S>(const RawField&, const SiteRange&);
template void launch_derivative_projection<L, S>(const RawField&, const GaugeCall&, const RawField&, double,
                                                 const SiteRange&);

}  // namespace trellis
