#pragma once
/// These site loops of the CPU are for kernels that take links from all around a block: they read ahead
/// (read_ahead.hpp) the links of the block and of its neighbours in y, z and t. Those in x come with the
/// blocks before and after.
#include <type_traits>

#include "trellis/device/cpu/walk/read_ahead.hpp"
#include "trellis/device/launch_hints.hpp"

namespace trellis::cpu {

using launch::Reach;

template <class Layout, class Storage>
class LinksAround {
 public:
  template <class Call>
  LinksAround(const Call& call, Reach reach)
      : links_{static_cast<const char*>(call.links.data)},
        neighbours_{call.tables.neighbours},
        step_{reach == Reach::forward ? 2 : 1},
        traffic_{block_bytes * (reach == Reach::forward ? 4 : 7),
                 {call.bytes, call.geometry, 1, storage_name<Storage>()}} {}

  const Traffic& traffic() const { return traffic_; }
  template <class Lines>
  void operator()(int block, const Lines& lines) const {
    lines(links_ + size_t(block) * block_bytes, block_bytes);
    for (int leg = 2; leg < 8; leg += step_) {
      const int32_t neighbour = neighbours_[size_t(block) * 8 + size_t(leg)] >> 1;
      lines(links_ + size_t(neighbour) * block_bytes, block_bytes);
    }
  }

 private:
  static constexpr size_t block_bytes = 4 * 18 * Layout::lanes * sizeof(Storage);
  const char* links_;
  const int32_t* neighbours_;
  int step_;
  Traffic traffic_;
};

/// These are the links of the staples of direction mu, and the link itself.
template <class Layout, class Storage>
class LinksOfStaples {
 public:
  template <class Call>
  LinksOfStaples(const Call& call, int mu)
      : links_{static_cast<const char*>(call.links.data)}, neighbours_{call.tables.neighbours}, mu_{mu} {}

  template <class Call>
  static Traffic traffic(const Call& call) {
    return {19 * link_bytes, {call.bytes, call.geometry, 1, storage_name<Storage>()}};
  }
  template <class Lines>
  void operator()(int block, const Lines& lines) const {
    const auto read = [&](int from, int mu) {
      lines(links_ + (size_t(from) * 4 + size_t(mu)) * link_bytes, link_bytes);
    };
    lines(links_ + size_t(block) * 4 * link_bytes, 4 * link_bytes);
    const int ahead = neighbour(block, 2 * mu_);
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu_) continue;
      const int behind = neighbour(block, 2 * nu + 1);
      read(neighbour(block, 2 * nu), mu_);
      read(behind, mu_);
      read(behind, nu);
      read(ahead, nu);
      read(neighbour(ahead, 2 * nu + 1), nu);
    }
  }

 private:
  static constexpr size_t link_bytes = 18 * Layout::lanes * sizeof(Storage);
  int neighbour(int block, int leg) const { return neighbours_[size_t(block) * 8 + size_t(leg)] >> 1; }
  const char* links_;
  const int32_t* neighbours_;
  int mu_;
};

/// Blocks lie in the order of sites, parities in turn: so far away are the next one, and the next of the same
/// parity.
inline constexpr int to_next = 1, to_next_of_parity = 2;

template <class Lines, class Make>
void for_each_site_asking(const SiteRange& range, const Traffic& traffic, const Lines& links,
                          int blocks_ahead, const Make& make) {
  using Kernel = std::invoke_result_t<const Make&, int>;
  thread_local LaunchTrials trials(ways_ahead_along, typeid(Kernel));
  const auto compute = [](const Kernel& kernel, int block) TRELLIS_INLINE_LAMBDA { kernel(block); };
  for_each_site_read_ahead(range, traffic, trials, links, asking_along(blocks_ahead, make, compute));
}

/// Does for_each_site() of a kernel that updates the links of direction mu. make(blocks_ahead) gives the
/// kernel, whose links ask for those of so many blocks further on (RawField::blocks_ahead).
template <class Layout, class Storage, class Call, class Make>
void for_each_link_update(const Call& call, int mu, const SiteRange& range, const Make& make) {
  const LinksOfStaples<Layout, Storage> links(call, mu);
  for_each_site_asking(range, links.traffic(call), links, to_next_of_parity, make);
}
/// Does for_each_site() of a kernel that reads the links of the call, likewise.
template <class Layout, class Storage, class Call, class Make>
void for_each_site_of_links(const Call& call, const SiteRange& range, const Make& make) {
  const LinksAround<Layout, Storage> links(call, Reach::around);
  for_each_site_asking(range, links.traffic(), links, to_next, make);
}
/// Does the same for reduce_sites().
template <size_t N, class Layout, class Storage, class Call, class Kernel>
void reduce_sites_of_links(const Call& call, Reach reach, const SiteRange& range, const Kernel& kernel,
                           ExactSum* sums) {
  const LinksAround<Layout, Storage> links(call, reach);
  thread_local LaunchTrials trials(ways_ahead, typeid(Kernel));
  reduce_sites_read_ahead<N>(range, links.traffic(), trials, links,
                             in_every_way([&](int block) { return kernel(block); }), sums);
}

}  // namespace trellis::cpu
