#pragma once
/// A field in the order of gauge fields leads to the instantiation of a kernel.
#include "trellis/field/gauge_tables.hpp"
#include "trellis/field/storage/dispatch.hpp"

namespace trellis {

/// Most kernels of links are instantiated for double precision only.
inline void require_double(Precision precision) {
  TRELLIS_REQUIRE(precision == Precision::double_precision,
                  "this needs links and algebra elements in double precision, found ", name_of(precision));
}

/// Calls f.operator()<Layout, double>() with the layout that the tables are for.
template <class F>
void dispatch_links(const GaugeTables& tables, F&& f) {
  dispatch(tables.backend(), Precision::double_precision, tables.layout()->lanes(),
           [&]<class Layout, class Storage>() {
             if constexpr (std::is_same_v<Storage, double> && !std::is_same_v<Layout, GpuLayout>)
               f.template operator()<Layout, Storage>();
           });
}

/// Calls f.operator()<Layout, double>() or, where the precision is single, f.operator()<Layout, float>().
template <class F>
void dispatch_links(const GaugeTables& tables, Precision precision, F&& f) {
  dispatch(tables.backend(), precision, tables.layout()->lanes(), [&]<class Layout, class Storage>() {
    constexpr bool is_known = std::is_same_v<Storage, double> || std::is_same_v<Storage, float>;
    if constexpr (is_known && !std::is_same_v<Layout, GpuLayout>) f.template operator()<Layout, Storage>();
  });
}

}  // namespace trellis
