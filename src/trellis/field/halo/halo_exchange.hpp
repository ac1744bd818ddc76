#pragma once
/// Fields of any kind have halos: start() sends, finish() waits, and between the two the caller works on
/// sites whose neighbours lie on this rank. Afterwards every ghost site is at hand by its coordinates.
///
///     HaloExchange halo(field, HaloShape{.width = 2, .corners = true});
///     halo.start(field);
///     ...                                            // inner sites
///     halo.finish();
///     halo.get_site(field, {x + 2, y, z, t}, slot, reals);  // kernels: sites().neighbours(), ghosts()
#include "trellis/field/cost.hpp"
#include "trellis/field/halo/site_exchange.hpp"
#include "trellis/field/storage/site_field.hpp"
#include "trellis/lattice/site_halo.hpp"

namespace trellis {

class HaloExchange {
 public:
  /// Serves fields of the kind of `like`: layout, subset, storage, backend, reals and slots. Collective.
  HaloExchange(const SiteField& like, HaloShape shape);
  /// Serves the same with ghosts that are known already, from an exchange of other fields of this layout.
  HaloExchange(const SiteField& like, SiteHaloPtr sites);

  const SiteHaloPtr& sites_ptr() const { return sites_; }
  const SiteHalo& sites() const { return *sites_; }

  /// Packs and sends the border of `field`. The ghosts of the exchange before are lost. @pre the field is of
  /// the kind given at construction
  void start(const SiteField& field);
  /// Waits; the ghosts are then complete, until the next start().
  void finish();
  /// Does both at once.
  void exchange(const SiteField& field);

  /// Returns the ghosts. Ghost k lies in block k / lanes, lane k % lanes, stored as the field's sites are.
  /// Ghosts in walls are zero.
  RawField ghosts() const;
  /// Writes one slot of all ghosts: [ghost][real].
  void ghosts_to_canonical(double* out, int slot) const;
  /// Gets the reals at local coordinates, of a site of this rank or of a ghost. Returns false where there is
  /// no site, beyond an open edge (slow: for set-up and tests). @pre not on a GPU
  bool get_site(const SiteField& field, const Coord& local, int slot, double* reals) const;

  /// Returns the messages and launches of one exchange of fields of this kind from this rank: it sends one
  /// message to each neighbouring rank, which two directions lead to where there are only two ranks. @pre no
  /// corners
  static Cost cost(const SiteHalo& sites, const FieldSpec& spec);

  int messages() const { return exchange_.messages(); }         ///< counts those sent in one exchange
  size_t bytes_sent() const { return exchange_.bytes_sent(); }  ///< counts those sent in one exchange
  size_t bytes_held() const { return ghosts_.bytes() + 2 * bytes_sent(); }

 private:
  FieldSpec spec_;
  SiteHaloPtr sites_;
  SiteStorage storage_;  ///< it is that of the ghosts
  Memory ghosts_;
  SiteExchange exchange_;
};

}  // namespace trellis
