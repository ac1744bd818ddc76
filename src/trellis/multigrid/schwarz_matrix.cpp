#include "trellis/multigrid/schwarz_matrix.hpp"

#include <map>

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/multigrid/schwarz.hpp"

namespace trellis {

namespace {

/// They say where the numbers of a site lie among the others of its vector.
struct Records {
  RawField field;
  int lanes, reals;
  bool has_pairs;

  size_t record(int vector, int slot) const {
    if (field.blocks != 0)
      return slot < 3 ? 3 * size_t(vector) + size_t(slot) : 3 * size_t(field.blocks) + size_t(vector);
    return size_t(vector) * size_t(field.slots) + size_t(slot);
  }
  size_t place(int vector, int lane, int slot, int i) const {
    return record(vector, slot) * size_t(reals) * size_t(lanes) +
           (has_pairs ? cpu_component_offset<int16_t>(i, lane, lanes)
                      : cpu_component_offset<float>(i, lane, lanes));
  }
};

template <class Element>
void copy_site(const Records& to, int vector, int lane, const Records& from, int block, int from_lane,
               int slots) {
  for (int slot = 0; slot < slots; ++slot) {
    for (int i = 0; i < to.reals; ++i)
      static_cast<Element*>(to.field.data)[to.place(vector, lane, slot, i)] =
          static_cast<const Element*>(from.field.data)[from.place(block, from_lane, slot, i)];
    if (to.field.scale != nullptr)
      to.field.scale[to.record(vector, slot) * size_t(to.lanes) + size_t(lane)] =
          from.field.scale == nullptr
              ? 1.0f
              : from.field.scale[from.record(block, slot) * size_t(from.lanes) + size_t(from_lane)];
  }
}

/// Copies the stored numbers of all sites of a parity, as they are.
void copy_sites(const Records& to, const Records& from, const std::vector<int32_t>& origins, int slots,
                size_t element_bytes) {
  for_each_index(int(origins.size()) / to.lanes, [&](int vector) {
    for (int lane = 0; lane < to.lanes; ++lane) {
      const int32_t at = origins[size_t(vector) * size_t(to.lanes) + size_t(lane)];
      const int block = at / from.lanes, from_lane = at % from.lanes;
      if (element_bytes == 2)
        copy_site<uint16_t>(to, vector, lane, from, block, from_lane, slots);
      else if (element_bytes == 4)
        copy_site<uint32_t>(to, vector, lane, from, block, from_lane, slots);
      else
        copy_site<uint64_t>(to, vector, lane, from, block, from_lane, slots);
    }
  });
}

BlockOrder order_of(const WilsonMatrix& M, const Coord& block, Precision storage, int lanes) {
  require_host(M.choice().backend, no_schwarz_on_gpus);
  return {M.lattice().geometry(), block, lanes == 0 ? native_lanes(storage) : lanes};
}

}  // namespace

BlockGroups block_groups(const std::vector<int32_t>& origins, int lanes) {
  BlockGroups groups;
  std::map<int32_t, size_t> group_of;  // the key is the place of lane 0
  for (size_t vector = 0; vector < origins.size() / size_t(lanes); ++vector) {
    const int32_t* const at = &origins[vector * size_t(lanes)];
    const int32_t lane = at[0] % lanes;
    const auto [found, is_new] = group_of.try_emplace(at[0] / lanes, group_of.size());
    const size_t first = found->second * size_t(lanes);
    if (is_new) {
      groups.vectors.resize(first + size_t(lanes), -1);
      for (int i = 0; i < lanes; ++i) groups.places.push_back(at[i] / lanes);
    }
    for (int i = 0; i < lanes; ++i)
      if (at[i] % lanes != lane || at[i] / lanes != groups.places[first + size_t(i)]) return {};
    groups.vectors[first + size_t(lane)] = int32_t(vector);
  }
  return groups;
}

SchwarzMatrix::SchwarzMatrix(const WilsonMatrix& given, const Coord& block, Precision storage, int lanes)
    : lattice_{given.hop().lattice_ptr()},
      storage_{storage},
      order_{order_of(given, block, storage, lanes)},
      link_reals_{given.choice().link_reals == 18 ? 18 : 12},
      has_clover_{given.clover() != nullptr},
      diagonal_{given.diagonal(false)},
      inverse_diagonal_{given.inverse_diagonal(false)},
      twist_{given.params().twisted_mass},
      diagonal_flops_{given.diagonal_flops(false) + given.diagonal_flops(true)} {
  KernelChoice choice = given.choice();
  choice.precision = storage;
  choice.lanes = 0;
  choice.link_reals = link_reals_;
  const bool is_same = given.choice().precision == storage && given.choice().link_reals == link_reals_;
  const WilsonMatrixPtr other =
      is_same ? nullptr : std::make_shared<WilsonMatrix>(*given.gauge_field(), given.params(), choice);
  const WilsonMatrix& M = is_same ? given : *other;
  copy_links(M.hop().links());
  copy_terms(M);
  const SiteLayout& inner = order_.inner();
  for (int leg = 0; leg < legs; ++leg) {
    LegPhases& p = legs_[leg];
    for (int lane = 0; lane < inner.lanes(); ++lane) {
      p.outside[lane] = inner.leaves_rank(leg, lane) ? 1 : 0;
      p.inside[lane] = 1 - p.outside[lane];
    }
    const WilsonParams& params = M.params();
    p.coefficient = leg / 2 < 3 ? params.nu / params.xi0 : 1.0;
    const std::complex<double> z = params.boundary[size_t(leg / 2)];
    p.boundary = leg % 2 == 0 ? z : std::conj(z);
  }
  for (int b = 0; b < order_.blocks(); ++b)
    for (int leg = 0; leg < legs; ++leg)
      at_boundary_.push_back(order_.is_at_boundary(b, leg) && legs_[leg].boundary != 1.0 ? 1 : 0);
  sums_ = order_.in_order_of_sites(0);
  for (int parity = 0; parity < 2; ++parity)
    for (int leg = 0; leg < legs; ++leg) number_in_edge_[parity][leg] = order_.number_in_edge(parity, leg);
}

std::vector<int32_t> SchwarzMatrix::origins(const SiteLayout& layout, int parity) const {
  std::vector<int32_t> found(size_t(order_.vectors()) * size_t(order_.lanes()));
  for_each_index(order_.vectors(), [&](int vector) {
    for (int lane = 0; lane < order_.lanes(); ++lane) {
      const SitePosition at = layout.position(order_.coord(parity, vector, lane));
      found[size_t(vector) * size_t(order_.lanes()) + size_t(lane)] =
          int32_t(at.block * layout.lanes() + at.lane);
    }
  });
  return found;
}

void SchwarzMatrix::copy_links(const HopLinks& links) {
  links_ = BlockField(order_, storage_, link_reals_, Nd);
  has_link_scales_ = links.raw(0).scale != nullptr;
  const bool has_pairs = storage_ == Precision::half_precision;
  for (int parity = 0; parity < 2; ++parity)
    copy_sites({links_.raw(parity), order_.lanes(), link_reals_, has_pairs},
               {links.raw(parity), links.layout().lanes(), link_reals_, has_pairs},
               origins(links.layout(), parity), Nd, element_bytes(storage_));
}

void SchwarzMatrix::copy_terms(const WilsonMatrix& M) {
  const bool has_pairs = storage_ == Precision::half_precision;
  const auto copy_term = [&](BlockField& to, const SpinorField* from, int parity) {
    if (from == nullptr) return;
    to = BlockField(order_, storage_, clover_term_reals, 1, 1);
    copy_sites({to.raw(0), order_.lanes(), clover_term_reals, has_pairs},
               {from->raw(parity), from->layout().lanes(), clover_term_reals, has_pairs},
               origins(from->layout(), parity), 1, element_bytes(storage_));
  };
  copy_term(clover_, M.clover(), 0);
  copy_term(inverse_, M.clover_inverse(), 1);
  copy_term(twisted_inverse_, M.twisted_inverse(), 1);
}

size_t SchwarzMatrix::bytes() const {
  return links_.bytes() + clover_.bytes() + inverse_.bytes() + twisted_inverse_.bytes();
}

RawStencil SchwarzMatrix::stencil(int parity, bool is_inside) const {
  const SiteLayout& inner = order_.inner();
  RawStencil s;
  s.table = inner.neighbours(parity).data();
  for (int leg = 0; leg < legs; ++leg) {
    s.legs[leg].permutation = inner.permutes(leg) ? inner.permutation(leg) : nullptr;
    s.legs[leg].phase_re = is_inside ? legs_[leg].inside : legs_[leg].outside;
    s.legs[leg].coefficient = legs_[leg].coefficient;
  }
  return s;
}

BlockSolveCall SchwarzMatrix::solve_call() const {
  BlockSolveCall call;
  for (int parity = 0; parity < 2; ++parity) {
    call.inner[parity] = stencil(parity, true);
    call.edge.inner[parity] = stencil(parity, false);
    call.links[parity] = links_.raw(parity);
    if (!has_link_scales_) call.links[parity].scale = nullptr;
    for (int leg = 0; leg < legs; ++leg) {
      call.edge.number_in_edge[parity][leg] = number_in_edge_[parity][leg].data();
      call.edge.edge_vectors[parity][leg] = int(order_.edge(parity, leg).size());
    }
  }
  for (int leg = 0; leg < legs; ++leg) {
    call.edge.boundary[leg][0] = legs_[leg].boundary.real();
    call.edge.boundary[leg][1] = legs_[leg].boundary.imag();
  }
  call.edge.neighbours = order_.neighbours().data();
  call.edge.at_boundary = at_boundary_.data();
  call.link_reals = link_reals_;
  call.has_clover = has_clover_;
  if (has_clover_) {
    call.clover = clover_.raw(0);
    call.inverse = inverse_.raw(0);
    call.twist = twist_;
    if (twist_ != 0) call.twisted_inverse = twisted_inverse_.raw(0);
  }
  call.diagonal[0] = diagonal_.real();
  call.diagonal[1] = diagonal_.imag();
  call.inverse_diagonal[0] = inverse_diagonal_.real();
  call.inverse_diagonal[1] = inverse_diagonal_.imag();
  call.order = sums_.data();
  call.vectors = order_.inner().blocks();
  return call;
}

BlockFaceCall SchwarzMatrix::face_call(int parity) const {
  BlockFaceCall call;
  call.links = links_.raw(parity);
  if (!has_link_scales_) call.links.scale = nullptr;
  call.link_reals = link_reals_;
  call.vectors = order_.inner().blocks();
  return call;
}

}  // namespace trellis
