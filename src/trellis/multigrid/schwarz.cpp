#include "trellis/multigrid/schwarz.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/device/launch_count.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/halo_messages.hpp"
#include "trellis/field/linear_algebra.hpp"
#include "trellis/field/storage/host_dispatch.hpp"
#include "trellis/kernels/multigrid/block_solve.hpp"
#include "trellis/lattice/aggregates.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// Returns the precision in which the kernels compute.
Precision arithmetic(Precision storage) { return is_16_bit(storage) ? Precision::single_precision : storage; }

void set_field(RawField (&to)[2], const BlockField& from) {
  for (int parity = 0; parity < 2; ++parity) to[parity] = from.raw(parity);
}

/// Counts the reals of half spinors between ranks, as WilsonGhosts has them.
int ghost_reals(Precision storage, int leg) {
  return storage == Precision::half_precision && leg % 2 == 0 ? 7 : 12;
}

}  // namespace

namespace {
/// Returns the even extent of blocks in a direction that is nearest to 4, and 0 where there is none.
int even_extent(const Geometry& geometry, int mu) {
  int found = 0;
  for (int extent = 2; extent <= 8; extent += 2)
    if (geometry.local()[mu] % extent == 0 && geometry.lattice()[mu] / extent % 2 == 0 &&
        (found == 0 || std::abs(extent - 4) < std::abs(found - 4)))
      found = extent;
  return found;
}
}  // namespace

Coord choose_schwarz_block(const Geometry& geometry) {
  Coord block{};
  for (int mu = 0; mu < Nd; ++mu) {
    block[mu] = even_extent(geometry, mu);
    TRELLIS_REQUIRE(
        block[mu] != 0, "the lattice ", to_string(geometry.lattice()), " over ranks ",
        to_string(geometry.grid().extents()), " has no Schwarz blocks: in the direction ", "xyzt"[mu],
        " a rank has whole blocks of even extents up to 8, and the lattice an even number of them");
  }
  return block;
}

/// The blocks of one colour at the faces of ranks send this to their neighbours, and this comes from there.
class SchwarzCycles::Faces {
 public:
  Faces(const SchwarzMatrix& matrix, int colour, int columns)
      : matrix_{matrix}, colour_{colour}, columns_{columns}, messages_{Backend{}} {
    const BlockOrder& order = matrix.order();
    const Geometry& geometry = order.geometry();
    for (int leg = 0; leg < legs; ++leg) {
      const int mu = leg / 2, step = leg % 2 == 0 ? 1 : -1;
      if (!geometry.is_split(mu)) continue;
      Leg of_leg{leg, {}};
      // The colours of a face may differ by a block; both ranks count alike.
      const int blocks = int(order.face(0, leg).size() + order.face(1, leg).size() + 1) / 2;
      for (int parity = 0; parity < 2; ++parity)
        of_leg.bytes[parity] = size_t(blocks) * order.edge(parity, leg ^ 1).size() * size_t(columns) *
                               size_t(ghost_reals(matrix.storage(), leg) * order.lanes()) *
                               element_bytes(arithmetic(matrix.storage()));
      messages_.add(geometry.neighbour_rank(mu, -step), geometry.neighbour_rank(mu, step), leg,
                    of_leg.bytes[0] + of_leg.bytes[1]);
      legs_.push_back(of_leg);
    }
    messages_.connect(matrix.lattice_ptr()->communicator(), geometry, columns,
                      element_bytes(arithmetic(matrix.storage())));
  }

  void start(const BlockField& field) {
    messages_.start([&] {
      for (size_t i = 0; i < legs_.size(); ++i) {
        char* const buffer = static_cast<char*>(messages_.send_buffer(int(i)));
        for (int parity = 0; parity < 2; ++parity) pack(field, legs_[i], parity, buffer);
      }
    });
  }
  void finish(BlockEdgeCall& call) {
    messages_.finish([&](int part) {
      const Leg& of_leg = legs_[size_t(part)];
      char* const buffer = static_cast<char*>(messages_.receive_buffer(part));
      for (int parity = 0; parity < 2; ++parity)
        call.ghosts[parity][of_leg.leg] = {buffer + size_t(parity) * of_leg.bytes[0], nullptr, columns_};
    });
  }
  void add_cost(Cost& cost) const {
    std::vector<SentMessage> parts;
    for (const Leg& of_leg : legs_)
      parts.push_back(
          {of_leg.leg / 2, of_leg.leg % 2 == 0 ? -1 : 1, double(of_leg.bytes[0] + of_leg.bytes[1])});
    add_merged(cost, matrix_.order().geometry(), parts);
    cost.launches += 2 * int64_t(legs_.size());
  }

 private:
  struct Leg {
    int leg;
    size_t bytes[2];
  };
  void pack(const BlockField& field, const Leg& of_leg, int parity, char* buffer) const {
    const BlockOrder& order = matrix_.order();
    const std::vector<int32_t>&blocks = order.face(colour_, of_leg.leg ^ 1),
          &edge = order.edge(parity, of_leg.leg ^ 1);
    BlockFaceCall call = matrix_.face_call(parity);
    call.in = field.raw(parity);
    call.out = {buffer + size_t(parity) * of_leg.bytes[0], nullptr, columns_};
    call.leg = of_leg.leg;
    call.blocks = blocks.data();
    call.edge = edge.data();
    call.edge_vectors = int(edge.size());
    call.slots = columns_;
    dispatch_any_on_host(matrix_.storage(), order.lanes(), [&]<class Layout, class Storage>() {
      launch_block_face<Layout, Storage>(call, SiteRange(int(blocks.size() * edge.size())));
    });
  }
  const SchwarzMatrix& matrix_;
  int colour_, columns_;
  std::vector<Leg> legs_;
  HaloMessages messages_;
};

SchwarzCycles::SchwarzCycles(SchwarzMatrixPtr matrix, const SchwarzSpec& spec, SiteLayoutPtr layout,
                             int columns)
    : matrix_{std::move(matrix)}, spec_{spec}, layout_{std::move(layout)}, columns_{columns} {
  TRELLIS_REQUIRE(spec.cycles >= 1 && spec.iterations >= 1,
                  "the Schwarz method needs one or more cycles and iterations in a block, not ", spec.cycles,
                  " and ", spec.iterations);
  const BlockOrder& order = matrix_->order();
  for (int parity = 0; parity < 2; ++parity) {
    origins_[parity] = matrix_->origins(*layout_, parity);
    if (layout_->lanes() == order.lanes()) groups_[parity] = block_groups(origins_[parity], order.lanes());
  }
  const Precision storage = matrix_->storage();
  residual_ = BlockField(order, storage, spinor_reals, columns);
  solution_ = BlockField(order, storage, spinor_reals, columns);
  if (spec.cycles > 1 || spec.is_additive) step_ = BlockField(order, storage, spinor_reals, columns);
  if (spec.is_additive) other_step_ = BlockField(order, storage, spinor_reals, columns);
  {
    const PartOfLaunch no_launch;  // the types are asked for a size
    dispatch_any_on_host(storage, order.lanes(), [&]<class Layout, class Storage>() {
      scratch_bytes_ = block_scratch_bytes<Layout, Storage>(order.inner().blocks());
    });
  }
  scratch_ = Memory(size_t(thread_count()) * scratch_bytes_);
  if (order.geometry().grid().size() > 1)
    for (int colour = 0; colour < 2; ++colour)
      faces_[colour] = std::make_unique<Faces>(*matrix_, colour, columns);
}

SchwarzCycles::~SchwarzCycles() = default;

void SchwarzCycles::copy(SpinorField& outside, const BlockField& blocks, bool is_inwards) {
  for (int parity = 0; parity < 2; ++parity) {
    BlockCopyCall call;
    call.blocks = blocks.raw(parity);
    call.outside = outside.raw(parity).data;
    call.outside_lanes = layout_->lanes();
    call.origin = origins_[parity].data();
    if (!groups_[parity].vectors.empty()) {
      call.group_vectors = groups_[parity].vectors.data();
      call.group_places = groups_[parity].places.data();
    }
    call.slots = columns_;
    const SiteRange all(matrix_->order().vectors());
    dispatch_any_on_host(matrix_->storage(), matrix_->order().lanes(), [&]<class Layout, class Storage>() {
      is_inwards ? launch_copy_to_blocks<Layout, Storage>(call, all)
                 : launch_copy_from_blocks<Layout, Storage>(call, all);
    });
  }
}

BlockSolveCall SchwarzCycles::call_of_cycles() const {
  BlockSolveCall call = matrix_->solve_call();
  call.iterations = spec_.iterations;
  call.slots = columns_;
  call.scratch = const_cast<void*>(scratch_.data());
  call.scratch_bytes = scratch_bytes_;
  set_field(call.residual, residual_);
  set_field(call.solution, solution_);
  return call;
}

void SchwarzCycles::solve_blocks(const BlockSolveCall& call, int colour) const {
  const BlockOrder& order = matrix_->order();
  SiteRange blocks(order.first(colour + 1));
  blocks.begin = order.first(colour);
  dispatch_any_on_host(matrix_->storage(), order.lanes(), [&]<class Layout, class Storage>() {
    launch_block_solve<Layout, Storage>(call, blocks);
  });
}

void SchwarzCycles::run_cycles() {
  BlockSolveCall call = call_of_cycles();
  const BlockField* last = nullptr;
  for (int cycle = 0; cycle < spec_.cycles; ++cycle)
    for (int colour = 0; colour < 2; ++colour) {
      const bool is_last = cycle + 1 == spec_.cycles && colour == 1;
      const BlockField& step = cycle == 0 ? solution_ : step_;
      call.is_first = cycle == 0;
      call.is_odd_solved = cycle > 0;
      set_field(call.step, step);
      call.has_arriving = last != nullptr;
      if (last) {
        set_field(call.arriving, *last);
        if (faces_[0]) faces_[1 - colour]->finish(call.edge);
      }
      solve_blocks(call, colour);
      if (faces_[0] && !is_last) faces_[colour]->start(step);
      last = &step;
    }
}

/// Blocks read the last steps of their neighbours while those make their next ones: two fields take turns.
void SchwarzCycles::run_additive_cycles() {
  BlockSolveCall call = call_of_cycles();
  solution_.set_zero();
  const BlockField *step = &step_, *last = &other_step_;
  for (int cycle = 0; cycle < spec_.cycles; ++cycle) {
    set_field(call.step, *step);
    set_field(call.arriving, *last);
    call.has_arriving = call.is_odd_solved = cycle > 0;
    for (int colour = 0; colour < 2; ++colour) {
      if (faces_[0] && cycle > 0) faces_[1 - colour]->finish(call.edge);
      solve_blocks(call, colour);
    }
    if (faces_[0] && cycle + 1 < spec_.cycles)
      for (int colour = 0; colour < 2; ++colour) faces_[colour]->start(*step);
    std::swap(step, last);
  }
}

/// Counts the legs inside a block as hops are counted, and the rest once a cycle.
Cost SchwarzCycles::cost_of_cycles() const {
  const BlockOrder& order = matrix_->order();
  double inside = 0;
  for (int mu = 0; mu < Nd; ++mu) inside += (1 - 1.0 / order.block()[mu]) / Nd;
  const double A = matrix_->diagonal_flops() / 2;
  const double hop = wilson_hop_flops, one = 0.5 * (hop * inside + A);  // it counts half a block's sites
  const double step = 2 * one + 0.5 * (144 + 192);
  const double cycle = spec_.iterations * step + 2 * (one + 24) + hop * (1 - inside) + 72;
  const double sites = double(matrix_->lattice_ptr()->volume());
  const double number = double(element_bytes(matrix_->storage()));
  const double matrices = double(matrix_->bytes()) * order.geometry().grid().size() / sites;
  Cost cost = cost_of(sites * columns_ * cycle, sites * (matrices + columns_ * number * 24 * 6));
  cost.launches = 2;
  Cost all = spec_.cycles * cost;
  if (faces_[0])
    for (int colour = 0; colour < 2; ++colour) {
      Cost messages;
      faces_[colour]->add_cost(messages);
      all += int64_t(colour == 0 && !spec_.is_additive ? spec_.cycles : spec_.cycles - 1) * messages;
    }
  all.launches += 4;  // two go to the order of blocks, and two back
  return all;
}

void SchwarzCycles::apply(SpinorField& z, const SpinorField& r, SolveCost& cost) {
  TRELLIS_REQUIRE(r.layout().geometry() == matrix_->order().geometry() && r.rhs() == columns_ &&
                      r.subset() == Subset::full && r.reals() == spinor_reals && r.slices() == 1,
                  "the Schwarz method: the field is of another kind");
  const bool is_plain = r.precision() == arithmetic(matrix_->storage()) && r.layout_ptr() == layout_;
  if (!is_plain && !converted_) {
    FieldSpec spec = r.spec();
    spec.precision = arithmetic(matrix_->storage());
    spec.lanes = layout_->lanes();
    converted_.emplace(r.lattice_ptr(), spec);
  }
  if (!is_plain) convert(*converted_, r);
  copy(is_plain ? const_cast<SpinorField&>(r) : *converted_, residual_, true);
  spec_.is_additive ? run_additive_cycles() : run_cycles();
  copy(is_plain ? z : *converted_, solution_, false);
  if (!is_plain) convert(z, *converted_);
  static_cast<Cost&>(cost) += cost_of_cycles();
}

namespace {

class SchwarzRecipe final : public SolverRecipe {
 public:
  explicit SchwarzRecipe(const SchwarzSpec& spec) : spec_{spec} {}
  std::string name(const LinearOperator&) const override {
    return message(spec_.is_additive ? "additive " : "", "Schwarz method, ", spec_.cycles, " cycles of ",
                   spec_.iterations, " iterations, ", name_of(spec_.storage));
  }
  SolveLimits limits() const override { return {}; }
  SolverSpec limited(const SolveLimits&) const override { return spec_; }
  SolveReport solve(const OperatorCopies&, SpinorField&, const SpinorField&) const override {
    throw BadArgument("the Schwarz method has no tolerance of its own: it is a preconditioner, of gcr say");
  }
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override {
    const auto* M = dynamic_cast<const WilsonOperator*>(&*A);
    TRELLIS_REQUIRE(M,
                    "the Schwarz method serves Wilson, clover and twisted-mass operators on all sites, not ",
                    A->name(), ": it stands outside of even-odd preconditioning, which it has inside");
    SchwarzSpec spec = spec_;
    if (spec.block == Coord{0, 0, 0, 0}) spec.block = choose_schwarz_block(M->matrix()->lattice().geometry());
    const auto matrix = A.made<SchwarzMatrix>(
        message("Schwarz blocks ", to_string(spec.block), " ", name_of(spec.storage), " ", spec.lanes),
        [&] { return std::make_shared<SchwarzMatrix>(*M->matrix(), spec.block, spec.storage, spec.lanes); });
    const FieldSpec own = A->domain(1);
    const LatticePtr& lattice = A->domain_lattice();
    const bool is_plain = own.precision == arithmetic(spec.storage);
    return std::make_unique<SchwarzCycles>(matrix, spec,
                                           is_plain ? SpinorField(lattice, own).layout_ptr()
                                                    : lattice->layout(native_lanes(arithmetic(spec.storage))),
                                           columns);
  }

 private:
  SchwarzSpec spec_;
};

}  // namespace

SchwarzSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<SchwarzRecipe>(*this)); }

}  // namespace trellis
