#include "trellis/measure/reflected_products.hpp"

#include "trellis/field/precision_dispatch.hpp"
#include "trellis/kernels/contract/reflected_products.hpp"

namespace trellis {

namespace {
void launch(const ReflectedProductsCall& call, const SpinorField& left, const SiteRange& blocks) {
  dispatch_double(left.spec().backend, left.layout().lanes(), [&]<class Layout, class Storage>() {
    launch_reflected_products<Layout, Storage>(call, blocks);
  });
}

ReflectedProductsCall call_of(const SpinorField& left, const SpinorField& right, int parity) {
  ReflectedProductsCall call;
  call.left = left.raw(parity);
  call.right = right.raw(parity);
  call.rhs = left.rhs();
  call.slices = left.slices();
  return call;
}
}  // namespace

void write_reflected_products(const SpinorField& left, const SpinorField& right, int parity,
                              const SiteRange& blocks, const ProductBuffer& out) {
  ReflectedProductsCall call = call_of(left, right, parity);
  call.out = out;
  call.first_block = blocks.begin;
  launch(call, left, blocks);
}

void add_reflected_products(SiteField& sum, const SpinorField& left, const SpinorField& right, int parity) {
  ReflectedProductsCall call = call_of(left, right, parity);
  call.sum = sum.raw(parity);
  launch(call, left, SiteRange(left.layout().blocks()));
}

}  // namespace trellis
