// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float,Half,Fp16
#include "trellis/kernels/linalg/many_fields.hpp"

#include <algorithm>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/linalg/of_columns.hpp"

namespace trellis {

namespace {
/// A pass has at most so many products: each has two buffers of terms of 4 KiB, which should stay in a core's
/// second cache.
constexpr int most_products = 48;

/// It has the arrays of some fields.
template <class Kernel>
struct Arrays {
  Arrays(const RawField* fields, int count, int reals) {
    for (int j = 0; j < count; ++j) array[j] = Kernel::array(fields[j], reals);
  }
  typename Kernel::Array array[ManyFieldsCall::largest_count];
};

/// Adds the products of some columns with some fields to sums[(column * stride + field) * 2].
template <class Kernel>
void push_dots(const RawField* columns, int width, const RawField* fields, int count,
               const ManyFieldsCall& all, const SiteRange& sites, ExactSum* sums) {
  const Arrays<Kernel> w(columns, width, all.reals), x(fields, count, all.reals);
  std::vector<ExactSum> found(size_t(2 * width * count));
  launch::reduce_pushed_rows(
      sites, 2 * width * count,
      [&](int begin, int end, auto* buffers) {
        for (int j = 0; j < count; ++j)
          for (int c = 0; c < width; ++c) {
            auto* own = buffers + 2 * (c * count + j);
            for (int i = begin; i < end; ++i)
              for (int slice = 0; slice < all.slices; ++slice) {
                typename Kernel::Term re, im;
                Kernel::Plain::dot_term(x.array[j], w.array[c], sites.list ? sites.list[i] : i, slice, re,
                                        im);
                own[0].push(re);
                own[1].push(im);
              }
          }
      },
      found.data());
  for (int c = 0; c < width; ++c)
    for (int k = 0; k < 2 * count; ++k) sums[2 * c * all.count + k].merge(found[size_t(2 * c * count + k)]);
}

/// Takes all columns and fields in few passes: each product has buffers of its own.
template <class Kernel>
void dots_on_cpu(const ManyFieldsCall& call, const SiteRange& sites) {
  constexpr int most = ManyFieldsCall::largest_count;
  for (int column = 0; column < call.width; column += most) {
    const int width = std::min(most, call.width - column);
    const int batch = std::clamp(most_products / width, 1, most);
    for (int field = 0; field < call.count; field += batch)
      push_dots<Kernel>(call.columns + column, width, call.fields + field,
                        std::min(batch, call.count - field), call, sites,
                        call.sums + 2 * (column * call.count + field));
  }
}

template <class Kernel>
void subtract_on_cpu(const ManyFieldsCall& call, const SiteRange& sites) {
  constexpr int most = ManyFieldsCall::largest_count;
  const Arrays<Kernel> x(call.fields, call.count, call.reals);
  for (int column = 0; column < call.width; column += most) {
    const int width = std::min(most, call.width - column);
    const Arrays<Kernel> w(call.columns + column, width, call.reals);
    const double* a = call.coefficients + 2 * column * call.count;
    const auto at_block = [&](int block, const auto& use) {
      for (int slice = 0; slice < call.slices; ++slice)
        for (int c = 0; c < width; ++c) {
          typename Kernel::Left left;
          Kernel::subtract(w.array[c], x.array, call.count, a + 2 * c * call.count, block, slice, left);
          use(c, slice, left);
        }
    };
    if (call.norms == nullptr)
      launch::for_each_site(sites, [&](int block) { at_block(block, [](int, int, const auto&) {}); });
    else
      launch::reduce_pushed_rows(
          sites, width,
          [&](int begin, int end, auto* buffers) {
            for (int i = begin; i < end; ++i) {
              const int block = sites.list ? sites.list[i] : i;
              at_block(block, [&](int c, int slice, const auto& left) {
                buffers[c].push(Kernel::norm_term(w.array[c], block, slice, left));
              });
            }
          },
          call.norms + column);
  }
}

/// A thread takes so many products, whose terms are kept in registers. Sites with many reals are few, and
/// products of several fields would leave a GPU too few threads.
template <int N>
inline constexpr int fields_at_a_time = N == 0 ? 1 : 4;
/// A launch takes all products of this many columns and fields, and the host waits for it once.
constexpr int most_columns_at_a_time = 12;

template <class Layout, class Storage, int N>
void dots_on_gpu(const ManyFieldsCall& call, const SiteRange& sites) {
  constexpr int together = fields_at_a_time<N>;
  constexpr int most = most_columns_at_a_time * (ManyFieldsCall::largest_count / together);
  using Terms = DotsAtSite<Layout, Storage, N, together>;
  const int groups = (call.count + together - 1) / together;
  struct Place {
    int column, field, slice;
  };
  const auto place_of = [&](int item) -> Place {
    return {item / (groups * call.slices), item / call.slices % groups * together, item % call.slices};
  };
  std::vector<ExactSum> sums;
  for_each_launch_of_columns<Terms, most>(
      call.width * groups * call.slices,
      [&](int item) {
        const Place at = place_of(item);
        return Terms(call, at.column, at.field, at.slice);
      },
      [&](const auto& kernel, int first, int count) {
        sums.assign(size_t(2 * together * count), ExactSum());
        launch::reduce_sites<2 * together>(sites, count, kernel, sums.data());
        for (int i = 0; i < count; ++i) {
          const Place at = place_of(first + i);
          const int fields = std::min(together, call.count - at.field);
          for (int k = 0; k < 2 * fields; ++k)
            call.sums[2 * (at.column * call.count + at.field) + k].merge(sums[size_t(2 * together * i + k)]);
        }
      });
}

template <class Layout, class Storage, int N>
void subtract_on_gpu(const ManyFieldsCall& call, const SiteRange& sites) {
  using Subtract = SubtractAtSite<Layout, Storage, N>;
  const int items = call.width * call.slices;
  const auto make = [&](int item) { return Subtract(call, item / call.slices, item % call.slices); };
  if (call.norms == nullptr)
    return for_each_launch_of_columns<Subtract>(items, make, [&](const auto& kernel, int, int count) {
      if constexpr (N == 0)
        launch::for_each_site(sites, count * (call.reals / 2), PairsOfColumns{kernel, call.reals / 2});
      else
        launch::for_each_site(sites, count, kernel);
    });
  for_each_launch_of_columns<WithNorm<Subtract>>(
      items, [&](int item) { return WithNorm<Subtract>{make(item)}; },
      [&](const auto& kernel, int first, int count) {
        ExactSum sums[OfColumns<WithNorm<Subtract>>::most];
        launch::reduce_sites<1>(sites, count, kernel, sums);
        for (int i = 0; i < count; ++i) call.norms[(first + i) / call.slices].merge(sums[i]);
      });
}

template <class Layout, class Storage, int N>
void dots(const ManyFieldsCall& call, const SiteRange& sites) {
  if constexpr (!ManyFields<Layout, Storage, N>::is_built)
    return;
  else if constexpr (launch::is_on_gpu<Layout>)
    dots_on_gpu<Layout, Storage, N>(call, sites);
  else
    dots_on_cpu<ManyFields<Layout, Storage, N>>(call, sites);
}
template <class Layout, class Storage, int N>
void subtract(const ManyFieldsCall& call, const SiteRange& sites) {
  if constexpr (!ManyFields<Layout, Storage, N>::is_built)
    return;
  else if constexpr (launch::is_on_gpu<Layout>)
    subtract_on_gpu<Layout, Storage, N>(call, sites);
  else
    subtract_on_cpu<ManyFields<Layout, Storage, N>>(call, sites);
}

template <class Layout, class Storage>
void require_any_reals(int reals) {
  TRELLIS_REQUIRE((ManyFields<Layout, Storage, 0>::is_built) && reals % 2 == 0, "products of many fields of ",
                  reals, " reals a site: expected 24 or 6, or in storage without scales any even number");
}
}  // namespace

template <class Layout, class Storage>
void launch_many_dots(const ManyFieldsCall& call, const SiteRange& sites) {
  if (call.reals == 24) return dots<Layout, Storage, 24>(call, sites);
  if (call.reals == 6) return dots<Layout, Storage, 6>(call, sites);
  require_any_reals<Layout, Storage>(call.reals);
  dots<Layout, Storage, 0>(call, sites);
}
template <class Layout, class Storage>
void launch_many_subtract(const ManyFieldsCall& call, const SiteRange& sites) {
  if (call.reals == 24) return subtract<Layout, Storage, 24>(call, sites);
  if (call.reals == 6) return subtract<Layout, Storage, 6>(call, sites);
  require_any_reals<Layout, Storage>(call.reals);
  subtract<Layout, Storage, 0>(call, sites);
}

template void launch_many_dots<InstantiatedLayout, InstantiatedStorage>(const ManyFieldsCall&,
                                                                        const SiteRange&);
template void launch_many_subtract<InstantiatedLayout, InstantiatedStorage>(const ManyFieldsCall&,
                                                                            const SiteRange&);

}  // namespace trellis
