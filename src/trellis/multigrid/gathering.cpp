#include "trellis/multigrid/gathering.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/sleeping_wait.hpp"
#include "trellis/comm/traffic.hpp"
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

constexpr int few_sites = 4, enough_sites = 8;
constexpr int note_tag = 1003;  // it lies beyond those of redistributions

bool fits(const Coord& lattice, const Coord& grid, const Coord& box) {
  for (int mu = 0; mu < Nd; ++mu)
    if (lattice[mu] % grid[mu] != 0 || lattice[mu] / grid[mu] % box[mu] != 0) return false;
  return true;
}

/// Counts the sites at the faces between ranks.
int64_t surface(const Coord& lattice, const Coord& grid) {
  int64_t sites = 0;
  for (int mu = 0; mu < Nd; ++mu)
    if (grid[mu] > 1) sites += product(lattice) / lattice[mu] * grid[mu];
  return sites;
}

/// Returns the grid of so many ranks with the least surface that does not cut a box; count 0 says that there
/// is none.
CoarseRanks cut_for(const Coord& lattice, int count, const Coord& box) {
  CoarseRanks best;
  for (const Coord& grid : legal_process_grids(lattice, count, 1, LocalExtents::any))
    if (fits(lattice, grid, box) && (best.count == 0 || surface(lattice, grid) < surface(lattice, best.grid)))
      best = {count, grid};
  return best;
}

Cost with(Cost cost, const CoarseGathering::Note& note) {
  cost.flops += note.flops;
  cost.conventional_flops += note.conventional_flops;
  cost.bytes += note.bytes;
  return cost;
}

/// Addresses messages between the few ranks, which are the first ones of all, by rank; sums and launches
/// stay, flops and bytes do not.
Cost without_work(const Cost& cost, const Geometry& few) {
  Cost found;
  found.sums = cost.sums;
  found.launches = cost.launches;
  for (const SentMessage& m : cost.messages)
    found.add_message({to_a_rank, few.neighbour_rank(m.mu, m.step), m.bytes, m.count});
  return found;
}

CoarseGathering::Note note_of(const Cost& cost) { return {cost.flops, cost.conventional_flops, cost.bytes}; }

}  // namespace

CoarseRanks choose_coarse_ranks(const Coord& coarse, const Coord& grid, int wanted, const Coord& box) {
  TRELLIS_REQUIRE(fits(coarse, {1, 1, 1, 1}, box), "boxes of ", to_string(box),
                  " do not divide the coarse lattice ", to_string(coarse));
  const int all = int(product(grid));
  const int64_t volume = product(coarse);
  const bool may_stay = fits(coarse, grid, box) && (wanted == 0 ? volume / all >= few_sites : wanted >= all);
  if (all == 1 || may_stay) return {all, grid};
  const int64_t by_volume = std::max<int64_t>(1, volume / enough_sites);
  const int most = int(std::min<int64_t>(all - 1, wanted == 0 ? by_volume : wanted));
  for (int count = most; count > 1; --count)
    if (const CoarseRanks found = cut_for(coarse, count, box); found.count > 0) return found;
  return {1, {1, 1, 1, 1}};
}

CoarseGathering::CoarseGathering(LatticePtr all, const CoarseRanks& ranks)
    : all_{std::move(all)}, ranks_{ranks} {
  Communicator& communicator = all_->communicator();
  TRELLIS_REQUIRE(ranks.count >= 1 && ranks.count < communicator.size(),
                  "a coarse lattice is gathered on 1 to ", communicator.size() - 1, " ranks, not on ",
                  ranks.count);
  if (const CommunicatorPtr few = communicator.subset(few_ranks()))
    few_ = make_lattice(all_->extents(), ranks.grid, few, all_->geometry().boundary());
  std::vector<Message> told;
  for (int rank = ranks.count; rank < communicator.size(); ++rank) {
    const int teller = rank % ranks.count;
    if (communicator.rank() == teller) told_.push_back({rank, note_tag, nullptr, sizeof(Note)});
    if (communicator.rank() == rank) told.push_back({teller, note_tag, nullptr, sizeof(Note)});
  }
  telling_ = communicator.make_exchange(told_, told);
}

std::vector<int> CoarseGathering::few_ranks() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_.count; ++rank) ranks.push_back(rank);
  return ranks;
}

FieldRedistribution& CoarseGathering::redistribution(const SiteField& like) const {
  for (const auto& [spec, found] : redistributions_)
    if (spec == like.spec()) return *found;
  auto made = std::make_unique<FieldRedistribution>(like, few_ranks(), ranks_.grid);
  return *redistributions_.emplace_back(like.spec(), std::move(made)).second;
}

CoarseMatrixPtr CoarseGathering::gathered(const CoarseMatrix& D) const {
  const auto move = [&](const SiteField& field) {
    FieldRedistribution moving(field, few_ranks(), ranks_.grid);
    auto few = moving.make_few();
    moving.to_few(few.get(), field);
    return few;
  };
  const std::unique_ptr<SiteField> links = move(D.links()), diagonal = move(D.diagonal());
  CoarseMatrixPtr few;
  on_few([&] { few = std::make_shared<CoarseMatrix>(*links, std::move(*diagonal), links->precision()); });
  return few;
}

void CoarseGathering::on_few(const std::function<void()>& f) const {
  std::string error;
  try {
    if (few_) f();
  } catch (const Error& caught) {
    error = caught.what();
  }
  const auto first = all_->communicator().first_error(error);
  if (!first.text.empty()) throw NumericError(first.text);
}

void CoarseGathering::run(const std::function<void()>& f, Cost& cost) const {
  on_few(f);
  Note note = note_of(cost);
  if (few_) cost = without_work(cost, few_->geometry());
  tell(note);
  cost = with(cost, note) + cost_of_telling();
}

void CoarseGathering::tell(Note& note) const {
  for (size_t i = 0; i < told_.size(); ++i) *static_cast<Note*>(telling_->outgoing(int(i))) = note;
  telling_->start();
  wait_asleep(*telling_, few_ ? 0 : 1);
  if (!few_) note = *static_cast<const Note*>(telling_->incoming(0));
}

Cost CoarseGathering::cost_of_telling() const {
  Cost cost;
  for (const Message& m : told_) cost.add_message({to_a_rank, m.peer, double(m.bytes)});
  return cost;
}

GatheredCoarseOperator::GatheredCoarseOperator(CoarseGatheringPtr gathering, CoarseMatrixPtr few,
                                               const FieldSpec& domain)
    : gathering_{std::move(gathering)}, matrix_{std::move(few)}, domain_{domain} {
  if (matrix_) {
    const auto D = std::make_shared<CoarseOperator>(matrix_);
    of_one_ = note_of(D->cost(1));
    of_two_ = note_of(D->cost(2));
    copies_ = std::make_unique<OperatorCopies>(LinearOperatorPtr(D));
  }
  gathering_->tell(of_one_);
  gathering_->tell(of_two_);
  const FieldRedistribution& moving = gathering_->redistribution(make_field(1));
  moving_ = moving.cost_to_few() + moving.cost_to_all();
}

FieldSpec GatheredCoarseOperator::domain(int columns) const {
  FieldSpec spec = domain_;
  spec.rhs = columns;
  return spec;
}

std::string GatheredCoarseOperator::name() const {
  return message("coarse operator with ", domain_.reals / 4, " vectors on ",
                 to_string(gathering_->all()->extents()), ", gathered on ", gathering_->ranks().count,
                 " ranks");
}

LinearOperatorPtr GatheredCoarseOperator::converted(Precision precision) const {
  CoarseMatrixPtr converted;
  gathering_->on_few([&] { converted = matrix_->converted(precision); });
  FieldSpec domain = domain_;
  domain.precision = precision;
  return std::make_shared<GatheredCoarseOperator>(gathering_, converted, domain);
}

void GatheredCoarseOperator::multiply(SpinorField& out, const SpinorField& in, bool is_dagger,
                                      ColumnSums&) const {
  FieldRedistribution& moving = gathering_->redistribution(in);
  const std::unique_ptr<SiteField> source = moving.make_few(), product = moving.make_few();
  moving.to_few(source.get(), in);
  if (matrix_) matrix_->multiply_all(*product, *source, is_dagger);
  CoarseGathering::Note nothing;
  gathering_->tell(nothing);
  moving.to_all(out, product.get());
}

/// Flops and bytes are linear in the columns.
Cost GatheredCoarseOperator::cost(int columns) const {
  Cost cost = moving_;
  cost.bytes *= columns;
  for (SentMessage& m : cost.messages) m.bytes *= columns;
  cost += gathering_->cost_of_telling();
  if (matrix_) cost += without_work(matrix_->cost_of_all(columns), matrix_->lattice_ptr()->geometry());
  const auto at = [columns](double one, double two) { return one + (columns - 1) * (two - one); };
  return with(cost,
              {at(of_one_.flops, of_two_.flops), at(of_one_.conventional_flops, of_two_.conventional_flops),
               at(of_one_.bytes, of_two_.bytes)});
}

CoarseGatheringPtr gathering_for(const LatticePtr& coarse, int wanted, const Coord& box) {
  const CoarseRanks ranks =
      choose_coarse_ranks(coarse->extents(), coarse->geometry().grid().extents(), wanted, box);
  if (ranks.count == coarse->communicator().size()) return nullptr;
  return std::make_shared<CoarseGathering>(coarse, ranks);
}

LinearOperatorPtr coarse_operator_on(const CoarseGatheringPtr& gathering, const CoarseMatrixPtr& matrix,
                                     const FieldSpec& domain) {
  if (!gathering) return std::make_shared<CoarseOperator>(matrix);
  return std::make_shared<GatheredCoarseOperator>(gathering, matrix, domain);
}

namespace {

class GatheredInverse final : public ApproximateInverse {
 public:
  GatheredInverse(const SolverSpec& solver, const GatheredCoarseOperator& A, int columns)
      : gathering_{A.gathering()},
        moving_{gathering_.redistribution(A.make_field(columns))},
        source_{moving_.make_few()},
        solution_{moving_.make_few()} {
    gathering_.on_few([&] { K_ = solver->inside(*A.few(), columns); });
  }

  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    stop_point();  // without it a stop that all ranks have agreed on reaches the few ranks alone
    moving_.to_few(source_.get(), r);
    CoarseGathering::Note note;
    if (K_) {
      SolveCost work;
      K_->apply(*solution_, *source_, work);
      note = note_of(work);
      static_cast<Cost&>(cost) += without_work(work, source_->geometry());
    }
    gathering_.tell(note);
    moving_.to_all(z, solution_.get());
    static_cast<Cost&>(cost) +=
        with(moving_.cost_to_few() + moving_.cost_to_all() + gathering_.cost_of_telling(), note);
  }

 private:
  const CoarseGathering& gathering_;
  FieldRedistribution& moving_;
  std::unique_ptr<SiteField> source_, solution_;
  std::unique_ptr<ApproximateInverse> K_;
};

class GatheredRecipe final : public SolverRecipe {
 public:
  explicit GatheredRecipe(SolverSpec solver) : solver_{std::move(solver)} {}
  std::string name(const LinearOperator& A) const override { return solver_->name(A); }
  SolveLimits limits() const override { return solver_.limits(); }
  SolverSpec limited(const SolveLimits& limits) const override {
    return GatheredSpec{solver_.limited(limits)};
  }
  SolveReport solve(const OperatorCopies& A, SpinorField& x, const SpinorField& b) const override {
    TRELLIS_REQUIRE(dynamic_cast<const GatheredCoarseOperator*>(&*A) == nullptr, "a solver on few ranks of ",
                    A->name(), " stands inside others: it has no true residual on all ranks");
    return solver_->solve(A, x, b);
  }
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int columns) const override {
    const auto* gathered = dynamic_cast<const GatheredCoarseOperator*>(&*A);
    if (!gathered) return solver_->inside(A, columns);
    return std::make_unique<GatheredInverse>(solver_, *gathered, columns);
  }

 private:
  SolverSpec solver_;
};

}  // namespace

GatheredSpec::operator SolverSpec() const { return SolverSpec(std::make_shared<GatheredRecipe>(solver)); }

}  // namespace trellis
