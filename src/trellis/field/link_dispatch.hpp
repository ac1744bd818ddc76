#pragma once
/// From a field in the order of gauge fields to the instantiation of a kernel.
#include "trellis/field/dispatch.hpp"
#include "trellis/field/gauge_tables.hpp"

namespace trellis {

/// Calls f.operator()<Layout, double>() with the layout that the tables are for.
template <class F>
void dispatch_links(const GaugeTables& tables, F&& f) {
  dispatch(tables.backend(), Precision::double_precision, tables.layout()->lanes(),
           [&]<class Layout, class Storage>() {
             if constexpr (std::is_same_v<Storage, double> && !std::is_same_v<Layout, GpuLayout>)
               f.template operator()<Layout, Storage>();
           });
}

}  // namespace trellis
