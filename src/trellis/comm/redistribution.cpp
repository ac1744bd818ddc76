#include "trellis/comm/redistribution.hpp"

#include <cstring>

#include "trellis/base/error.hpp"
#include "trellis/comm/transport/choice.hpp"

namespace trellis {

namespace {
constexpr int to_few_tag = 1001, to_all_tag = 1002;  // they are beyond those of halos

/// Throws on all ranks unless the numbers are those of rank 0.
void require_same(Communicator& all, const std::vector<int64_t>& numbers, const char* what) {
  int64_t length = int64_t(numbers.size());
  all.broadcast(&length, sizeof(length), 0);
  std::vector<int64_t> first = numbers;
  first.resize(size_t(length));
  all.broadcast(first.data(), first.size() * sizeof(int64_t), 0);
  all.agree_on_argument(first == numbers ? "" : message(what, " on all ranks, found another than on rank 0"));
}

std::vector<int64_t> numbers_of(const Redistribution::Cut& cut, size_t bytes_per_site) {
  std::vector<int64_t> numbers{int64_t(bytes_per_site)};
  numbers.insert(numbers.end(), cut.lattice.begin(), cut.lattice.end());
  for (const ProcessGrid* grid : {&cut.all, &cut.few}) {
    numbers.insert(numbers.end(), grid->extents().begin(), grid->extents().end());
    for (int rank = 0; rank < grid->size(); ++rank)
      numbers.push_back(site_index(grid->coord_of(rank), grid->extents()));
  }
  return numbers;
}

/// Says why the cut does not fit the communicator. It is empty if it does.
std::string why_not(const Communicator& all, const Redistribution::Cut& cut, size_t bytes_per_site) {
  const auto grid_for = [](const ProcessGrid& grid, int ranks, const char* which) {
    return grid.size() == ranks ? std::string()
                                : message("the process grid ", to_string(grid.extents()), " has ",
                                          grid.size(), " processes, expected ", ranks, " for ", which);
  };
  if (const std::string text = grid_for(cut.all, all.size(), "all ranks"); !text.empty()) return text;
  if (const std::string text = grid_for(cut.few, int(cut.few_ranks.size()), "the few ranks"); !text.empty())
    return text;
  if (bytes_per_site == 0) return "a redistribution moves at least one byte a site, found none";
  try {
    box_of_rank(cut.lattice, cut.all, 0);
    box_of_rank(cut.lattice, cut.few, 0);
  } catch (const BadArgument& error) {
    return error.what();
  }
  return {};
}

/// Returns one message for each rank that has sites of a box, and these sites.
Messages messages_of(const SiteBox& box, const Coord& lattice, const ProcessGrid& grid,
                     const std::vector<int>& ranks, int tag, size_t bytes_per_site,
                     std::vector<SiteBox>& boxes) {
  Messages messages;
  if (box.sites() == 0) return messages;
  for (const auto& [rank, common] : common_boxes(box, lattice, grid)) {
    const int peer = ranks.empty() ? rank : ranks[size_t(rank)];
    messages.push_back({peer, tag, nullptr, size_t(common.sites()) * bytes_per_site});
    boxes.push_back(common);
  }
  return messages;
}

/// A rank's lexicographic data has these rows of sites.
struct SiteData {
  SiteBox own;
  size_t bytes_per_site;
  template <class F>
  void for_each_row_of(const SiteBox& box, const F& f) const {
    const size_t length = size_t(box.extents[0]) * bytes_per_site;
    for_each_row(box, [&](Coord x) {
      for (int mu = 0; mu < Nd; ++mu) x[mu] -= own.origin[mu];
      f(size_t(site_index(x, own.extents)) * bytes_per_site, length);
    });
  }
};
struct Source : SiteData {
  const std::byte* data;
  void pack(const SiteBox& box, void* to) const {
    auto* message = static_cast<std::byte*>(to);
    for_each_row_of(box, [&](size_t at, size_t length) {
      std::memcpy(message, data + at, length);
      message += length;
    });
  }
};
struct Target : SiteData {
  std::byte* data;
  void unpack(const SiteBox& box, const void* from) const {
    const auto* message = static_cast<const std::byte*>(from);
    for_each_row_of(box, [&](size_t at, size_t length) {
      std::memcpy(data + at, message, length);
      message += length;
    });
  }
};
}  // namespace

Redistribution::Redistribution(Communicator& all, const Cut& cut, size_t bytes_per_site, Backend backend)
    : bytes_per_site_{bytes_per_site}, few_{all.subset(cut.few_ranks)} {
  all.agree_on_argument(why_not(all, cut, bytes_per_site));
  require_same(all, numbers_of(cut, bytes_per_site), "a redistribution has the same cut and bytes a site");
  all_box_ = box_of_rank(cut.lattice, cut.all, all.rank());
  if (few_) few_box_ = box_of_rank(cut.lattice, cut.few, few_->rank());
  const auto among_few = [&](int tag, std::vector<SiteBox>& boxes) {
    return messages_of(all_box_, cut.lattice, cut.few, cut.few_ranks, tag, bytes_per_site, boxes);
  };
  const auto among_all = [&](int tag, std::vector<SiteBox>& boxes) {
    return messages_of(few_box_, cut.lattice, cut.all, {}, tag, bytes_per_site, boxes);
  };
  const Messages sends = among_few(to_few_tag, to_few_.sent),
                 receives = among_all(to_few_tag, to_few_.received);
  to_few_.transport = make_transport(all, sends, receives, {backend});
  for (const Message& m : sends) to_few_.messages.push_back({m.peer, m.bytes});
  const Messages returns = among_all(to_all_tag, to_all_.sent),
                 arrivals = among_few(to_all_tag, to_all_.received);
  to_all_.transport = make_transport(all, returns, arrivals, {backend});
  for (const Message& m : returns) to_all_.messages.push_back({m.peer, m.bytes});
}

void Redistribution::Way::run(const Pack& pack, const Unpack& unpack) {
  // A lambda with two addresses is stored within a std::function: nothing is allocated.
  transport->start([this, &pack] {
    for (size_t i = 0; i < sent.size(); ++i) pack(sent[i], transport->outgoing(int(i)));
  });
  transport->wait_each([this, &unpack](int i) { unpack(received[size_t(i)], transport->incoming(i)); });
}

void Redistribution::to_few(const Pack& pack, const Unpack& unpack) { to_few_.run(pack, unpack); }
void Redistribution::to_all(const Pack& pack, const Unpack& unpack) { to_all_.run(pack, unpack); }

void Redistribution::to_few(void* few, const void* all) {
  const Source source{{all_box_, bytes_per_site_}, static_cast<const std::byte*>(all)};
  const Target target{{few_box_, bytes_per_site_}, static_cast<std::byte*>(few)};
  to_few([&source](const SiteBox& box, void* message) { source.pack(box, message); },
         [&target](const SiteBox& box, const void* message) { target.unpack(box, message); });
}

void Redistribution::to_all(void* all, const void* few) {
  const Source source{{few_box_, bytes_per_site_}, static_cast<const std::byte*>(few)};
  const Target target{{all_box_, bytes_per_site_}, static_cast<std::byte*>(all)};
  to_all([&source](const SiteBox& box, void* message) { source.pack(box, message); },
         [&target](const SiteBox& box, const void* message) { target.unpack(box, message); });
}

}  // namespace trellis
