#pragma once
/// Kernels of one column each become one kernel of many, for GPUs: with their fields and coefficients they
/// travel side by side, so that a launch takes many columns.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "trellis/base/annotations.hpp"

namespace trellis {

/// @tparam limit is the largest number of columns of a launch
template <class AtSite, int limit = 12>
class OfColumns {
 public:
  /// The kernels of a launch stay below the 32764 bytes that a GPU takes.
  static constexpr int most = std::clamp(32000 / int(sizeof(AtSite)), 1, limit);

  /// Calls make(column) for the columns from `first` on. @pre first < columns; kernels behind the last column
  /// are copies of it, which the launch does not call
  template <class Make>
  OfColumns(int first, int columns, const Make& make)
      : OfColumns(first, columns, make, std::make_index_sequence<size_t(most)>()) {}

  TRELLIS_SITE_FN auto operator()(int site, int column) const { return at_[column](site); }
  TRELLIS_SITE_FN const AtSite& at(int column) const { return at_[column]; }

 private:
  template <class Make, size_t... Is>
  OfColumns(int first, int columns, const Make& make, std::index_sequence<Is...>)
      : at_{make(std::min(first + int(Is), columns - 1))...} {}
  AtSite at_[most];
};

/// It has a thread for each pair of numbers of a site, where these do not depend on each other: the slot is
/// column * pairs + pair.
template <class Columns>
struct PairsOfColumns {
  Columns columns;
  int pairs;
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    columns.at(slot / pairs).pair(site, 2 * (slot % pairs));
  }
};
template <class Columns>
PairsOfColumns(const Columns&, int) -> PairsOfColumns<Columns>;  // clang 15 deduces no aggregates

/// Calls launch(kernel, first, count) with AtSite kernels of `count` columns from `first` on, for all
/// columns.
template <class AtSite, int limit = 12, class Make, class Launch>
void for_each_launch_of_columns(int columns, const Make& make, const Launch& launch) {
  constexpr int most = OfColumns<AtSite, limit>::most;
  for (int first = 0; first < columns; first += most)
    launch(OfColumns<AtSite, limit>(first, columns, make), first, std::min(most, columns - first));
}

}  // namespace trellis
