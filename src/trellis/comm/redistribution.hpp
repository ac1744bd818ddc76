#pragma once
/// Site data moves between all ranks and fewer of them: coarse grids have less work than all ranks can share.
#include <functional>
#include <vector>

#include "trellis/base/precision.hpp"
#include "trellis/comm/transport/transport.hpp"
#include "trellis/lattice/site_box.hpp"

namespace trellis {

/// Moves the data of all sites of a lattice from a field that all ranks of a communicator share to one that
/// few of them share, and back, many times. Nothing is allocated after construction.
class Redistribution {
 public:
  /// A cut has a lattice and the grids by which it is cut over all and over the few ranks.
  struct Cut {
    Coord lattice;
    ProcessGrid all;
    std::vector<int> few_ranks;  ///< they are numbers among all; rank i of the grid `few` is few_ranks[i]
    ProcessGrid few;
  };
  /// Prepares the moves. Messages lie in memory of the backend, by default of the host. Collective over all
  /// ranks.
  /// Throws BadArgument on all ranks where few_ranks are no subset of them, a grid has another number of
  /// processes than ranks or does not divide the lattice, there are no bytes a site, or ranks do not name the
  /// same.
  Redistribution(Communicator& all, const Cut& cut, size_t bytes_per_site, Backend backend = {});

  /// Returns the few ranks, the same as all.subset(few_ranks), and null on others.
  const CommunicatorPtr& few() const { return few_; }
  /// Returns the sites that this rank has of the field of all ranks.
  const SiteBox& box_among_all() const { return all_box_; }
  /// Returns those of the field of few ranks, and none if it is not one of them.
  const SiteBox& box_among_few() const { return few_box_; }

  /// Each box is one message: sites that this rank has of the field of all ranks, and of that of few.
  const std::vector<SiteBox>& boxes_among_all() const { return to_few_.sent; }
  const std::vector<SiteBox>& boxes_among_few() const { return to_few_.received; }

  /// This rank sends so many bytes each time to a rank of all ranks; to itself, too.
  struct Sent {
    int rank;
    size_t bytes;
  };
  std::vector<Sent> sent_to_few() const { return to_few_.messages; }
  std::vector<Sent> sent_to_all() const { return to_all_.messages; }

  // All functions below are collective over all ranks. `all` and `few` are the data of a rank's box, site by
  // site in lexicographic order, x fastest. `few` may be null on ranks that are none of the few.
  void to_few(void* few, const void* all);
  void to_all(void* all, const void* few);

  /// Fields in another order take these: pack(box, message) writes the data of the sites of a box to a
  /// message, and unpack(box, message) reads them, in an order that both agree on.
  using Pack = std::function<void(const SiteBox& box, void* message)>;
  using Unpack = std::function<void(const SiteBox& box, const void* message)>;
  void to_few(const Pack& pack, const Unpack& unpack);
  void to_all(const Pack& pack, const Unpack& unpack);

 private:
  struct Way {
    std::vector<SiteBox> sent, received;
    std::vector<Sent> messages;
    TransportPtr transport;
    void run(const Pack& pack, const Unpack& unpack);
  };
  SiteBox all_box_, few_box_;
  size_t bytes_per_site_;
  CommunicatorPtr few_;
  Way to_few_, to_all_;
};

}  // namespace trellis
