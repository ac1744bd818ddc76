#include "trellis/multigrid/coarse_schwarz.hpp"

#include <algorithm>
#include <cmath>

#include "trellis/base/error.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/precision_dispatch.hpp"
#include "trellis/field/storage/on_host.hpp"
#include "trellis/kernels/multigrid/coarse_box.hpp"
#include "trellis/multigrid/split_matrix.hpp"
#include "trellis/solver/preconditioner.hpp"
#include "trellis/solver/solver_recipe.hpp"

namespace trellis {

namespace {

/// Beyond this an inverse in single is no help to the solver outside.
constexpr double largest_condition_of_box = 1e6;

/// It has the sites of a box, by parity, as local coordinates.
struct BoxSites {
  std::vector<Coord> of_parity[2];
};

std::vector<BoxSites> boxes_of(const SiteLayout& layout, const Coord& box) {
  Coord count{};
  for (int mu = 0; mu < Nd; ++mu) count[mu] = layout.geometry().local()[mu] / box[mu];
  std::vector<BoxSites> boxes(static_cast<size_t>(product(count)));
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Coord origin = site_coord(int64_t(i), count);
    for (int64_t site = 0; site < product(box); ++site) {
      Coord x = site_coord(site, box);
      for (int mu = 0; mu < Nd; ++mu) x[mu] += origin[mu] * box[mu];
      boxes[i].of_parity[layout.position(x).parity].push_back(x);
    }
  }
  return boxes;
}

/// It has the matrices of D between sites of one box.
class BoxMatrices {
 public:
  BoxMatrices(const SiteField& links, const SiteField& diagonal, const Coord& box, const BoxSites& sites)
      : links_{links}, diagonal_{diagonal}, box_{box}, sites_{sites} {}

  /// Returns S_B^-1, and an estimate of its condition.
  SplitInverse inverse_of_system() const {
    const std::vector<Coord>&even = sites_.of_parity[0], &odd = sites_.of_parity[1];
    const int n = diagonal_at(even.front()).n, evens = int(even.size());
    SplitMatrix S(n * evens);
    for (int i = 0; i < S.n; ++i) S.re_row(i)[i] = 1;
    std::vector<SplitMatrix> inverse_even;
    for (const Coord& x : even) inverse_even.push_back(inverse_of(diagonal_at(x)).inverse);
    for (const Coord& o : odd) {
      const SplitMatrix inverse_odd = inverse_of(diagonal_at(o)).inverse;
      const std::vector<Leg> from_odd = legs_at(o);
      for (const Leg& there : from_odd) {  // these do A_o^-1 H_oe, then A_e^-1 H_eo of that
        SplitMatrix left(n);
        add_product(left, 1.0, inverse_odd, there.matrix);
        for (const Leg& back : from_odd) {
          SplitMatrix hops(n), all(n);
          add_product(hops, 1.0, g5_adjoint(back.matrix), left);
          add_product(all, -1.0, inverse_even[size_t(back.even)], hops);
          add_block(S, all, back.even * n, there.even * n);
        }
      }
    }
    return inverse_of(S);
  }

 private:
  /// It is the sum of the matrices from an even site of the box to an odd one.
  struct Leg {
    int even;
    SplitMatrix matrix;
  };

  SplitMatrix matrix_at(const SiteField& field, const Coord& x, int slot) const {
    std::vector<double> reals(size_t(field.reals()));
    field.get_site(field.layout().position(x), slot, reals.data());
    return split_matrix(reals);
  }
  SplitMatrix diagonal_at(const Coord& x) const { return matrix_at(diagonal_, x, 0); }

  /// Lists the legs of an odd site that stay in the box. The matrix from odd to even is replaced by g5
  /// M^dagger g5 of the one from even to odd: D_c is g5-hermitian but for A.
  std::vector<Leg> legs_at(const Coord& odd) const {
    std::vector<Leg> found;
    const auto add = [&](const Coord& even, const SplitMatrix& matrix) {
      const auto& all = sites_.of_parity[0];
      const int number = int(std::find(all.begin(), all.end(), even) - all.begin());
      for (Leg& leg : found)
        if (leg.even == number) return add_block(leg.matrix, matrix, 0, 0);
      found.push_back({number, matrix});
    };
    for (int mu = 0; mu < Nd; ++mu)
      for (const int step : {1, -1}) {
        Coord even = odd;
        if (!stays(even, mu, step)) continue;
        if (step == 1)
          add(even, matrix_at(links_, odd, mu));
        else
          add(even, g5_adjoint(matrix_at(links_, even, mu)));
      }
    return found;
  }
  /// Moves x, and says whether that leg stays in the box. Where a box spans the lattice it does at its edge,
  /// too.
  bool stays(Coord& x, int mu, int step) const {
    const Geometry& g = diagonal_.geometry();
    const int begin = x[mu] / box_[mu] * box_[mu];
    x[mu] += step;
    const bool spans = box_[mu] == g.lattice()[mu];
    if (spans) x[mu] = (x[mu] + box_[mu]) % box_[mu];
    return x[mu] >= begin && x[mu] < begin + box_[mu];
  }

  const SiteField &links_, &diagonal_;
  Coord box_;
  const BoxSites& sites_;
};

}  // namespace

std::string coarse_box_error(const Geometry& coarse, const Coord& box, int vectors) {
  for (int mu = 0; mu < Nd; ++mu)
    if (box[mu] < 2 || box[mu] % 2 != 0 || coarse.local()[mu] % box[mu] != 0)
      return message("boxes of ", to_string(box), " do not suit the coarse lattice ",
                     to_string(coarse.lattice()), " over ranks ", to_string(coarse.grid().extents()),
                     ": in the direction ", "xyzt"[mu], " their extent is even and divides the ",
                     coarse.local()[mu],
                     " coarse sites of a rank; coarse_ranks gathers the coarse lattice on "
                     "fewer ranks");
  if (product(box) / 2 * 4 * vectors > most_box_reals)
    return message("boxes of ", to_string(box), " with ", vectors, " vectors have ",
                   product(box) / 2 * 4 * vectors, " reals, and there is room for ", most_box_reals);
  return {};
}

CoarseBoxes::CoarseBoxes(const CoarseMatrix& D, const Coord& box)
    : box_{box}, vectors_{D.vectors()}, spec_{D.field_spec(Subset::even, 1)}, lattice_{D.lattice_ptr()} {
  const std::string error = coarse_box_error(lattice_->geometry(), box, vectors_);
  TRELLIS_REQUIRE(error.empty(), error);
  const SiteLayout& layout = D.diagonal().layout();
  const std::vector<BoxSites> boxes = boxes_of(layout, box);
  boxes_ = int(boxes.size());
  sites_in_box_ = int(product(box) / 2);
  for (const BoxSites& sites : boxes)
    for (const Coord& x : sites.of_parity[0]) places_.push_back(int32_t(layout.position(x).block));
  sites_ = {places_, spec_.backend};
  const size_t reals = 2 * size_t(rows()) * size_t(rows());
  const bool is_double = spec_.precision == Precision::double_precision;
  std::vector<double> wide(is_double ? boxes.size() * reals : 0);
  std::vector<float> narrow(is_double ? 0 : boxes.size() * reals);
  std::vector<double> conditions(boxes.size());
  on_host(D.links(), [&](const SiteField& links) {
    on_host(D.diagonal(), [&](const SiteField& diagonal) {
      for_each_index(boxes_, [&](int i) {
        const SplitInverse found = BoxMatrices(links, diagonal, box_, boxes[size_t(i)]).inverse_of_system();
        conditions[size_t(i)] = found.condition;
        if (is_double)
          write_by_columns(found.inverse, &wide[size_t(i) * reals]);
        else
          write_by_columns(found.inverse, &narrow[size_t(i) * reals]);
      });
    });
  });
  condition_ = lattice_->communicator().maximum(*std::max_element(conditions.begin(), conditions.end()));
  if (!(condition_ <= largest_condition_of_box))
    throw NumericError(
        message("a box of the coarse operator is singular, or nearly: its condition is ", condition_));
  const size_t bytes = boxes.size() * reals * element_bytes(spec_.precision);
  inverses_ = Memory(bytes, spec_.backend);
  inverses_.copy_from_host(is_double ? static_cast<const void*>(wide.data()) : narrow.data(), bytes);
}

void CoarseBoxes::apply(SiteField& z, const SiteField& r) const {
  CoarseBoxCall call;
  call.sites = sites_.data();
  call.matrices = inverses_.data();
  call.in = r.raw(0);
  call.out = z.raw(0);
  call.sites_in_box = sites_in_box_;
  call.vectors = vectors_;
  call.rhs = r.rhs();
  dispatch_unquantised(spec_.backend, spec_.precision, 1, [&]<class Layout, class Storage>() {
    if constexpr (Layout::lanes == 1) launch_coarse_boxes<Layout, Storage>(call, SiteRange(boxes_));
  });
}

Cost CoarseBoxes::cost(int columns) const {
  const double boxes = double(lattice_->volume()) / double(product(box_));
  const double n = double(rows()), real = double(element_bytes(spec_.precision));
  Cost cost = cost_of(boxes * columns * 8 * n * n, boxes * real * (2 * n * n + 4 * n * columns));
  cost.launches = 1;
  return cost;
}

namespace {

class BoxSolves final : public ApproximateInverse {
 public:
  explicit BoxSolves(std::shared_ptr<const CoarseBoxes> boxes) : boxes_{std::move(boxes)} {}
  void apply(SpinorField& z, const SpinorField& r, SolveCost& cost) override {
    boxes_->apply(z, r);
    static_cast<Cost&>(cost) += boxes_->cost(r.rhs());
  }

 private:
  std::shared_ptr<const CoarseBoxes> boxes_;
};

class CoarseSchwarzRecipe final : public SolverRecipe {
 public:
  explicit CoarseSchwarzRecipe(const CoarseSchwarzSpec& spec) : spec_{spec} {}
  std::string name(const LinearOperator&) const override {
    return message("additive Schwarz method on boxes of ", to_string(spec_.box));
  }
  SolveLimits limits() const override { return {}; }
  SolverSpec limited(const SolveLimits&) const override { return spec_; }
  SolveReport solve(const OperatorCopies&, SpinorField&, const SpinorField&) const override {
    throw BadArgument(
        "the Schwarz method on boxes of coarse sites has no tolerance of its own: it is a "
        "preconditioner");
  }
  std::unique_ptr<ApproximateInverse> inside(const OperatorCopies& A, int) const override {
    const auto* S = dynamic_cast<const CoarseSchur*>(&*A);
    TRELLIS_REQUIRE(S && S->form() == SchurForm::symmetric,
                    "the Schwarz method on boxes of coarse sites serves even-odd systems of coarse operators "
                    "in their symmetric form, not ",
                    A->name());
    return std::make_unique<BoxSolves>(
        A.made<CoarseBoxes>(message("coarse boxes ", to_string(spec_.box)),
                            [&] { return std::make_shared<CoarseBoxes>(*S->matrix(), spec_.box); }));
  }

 private:
  CoarseSchwarzSpec spec_;
};

}  // namespace

CoarseSchwarzSpec::operator SolverSpec() const {
  return SolverSpec(std::make_shared<CoarseSchwarzRecipe>(*this));
}

}  // namespace trellis
