#pragma once
/// Products are summed over the sites of time slices here, with a phase for each momentum, in the memory of a
/// device. The sums are exact, with the same bits as those of slice_sums.hpp.
#include "trellis/algebra/partial_sum.hpp"
#include "trellis/kernels/contract/momentum_phases.hpp"
#include "trellis/kernels/contract/site_products.hpp"
#include "trellis/view/vector_access.hpp"

namespace trellis {

/// A slice has some pieces, each with every pieces-th site. A thread adds the terms of a piece for one
/// component and some momenta to partial sums, which are merged when the slice is complete. Threads beside
/// each other take components beside each other, so that they share phases and read products in sequence.
struct PartialSumsCall {
  static constexpr int momenta_a_pass = 4;  ///< a thread takes at most so many
  const double* products = nullptr;         ///< [slice][site][component][re, im]
  int components = 0, momenta = 1;
  int slices = 1, slice_sites = 0;  ///< there are so many slices, and sites of each
  int pieces = 8;                   ///< it is a multiple of pieces_a_merge
  /// Every second slice has the same sites; these are the phases of the first slice's, and of the next one's:
  /// [site][momentum][re, im].
  const double* phases[2] = {nullptr, nullptr};
  PartialSum* partials = nullptr;  ///< [slice][piece][row], row = [momentum][component][re, im]
  bool is_first = false;           ///< what is in the partial sums does not count

  int rows() const { return momenta * components * 2; }
  int passes() const { return (momenta + momenta_a_pass - 1) / momenta_a_pass; }
  size_t partial_count() const { return size_t(slices) * size_t(rows()) * size_t(pieces); }
};

class AddToPartials {
 public:
  /// @param first of the slices that the launch takes
  AddToPartials(const PartialSumsCall& call, int first)
      : call_{call}, first_{first}, passes_{call.passes()} {}

  /// @param thread piece * components + component; slot: (slice - first) * passes + pass over the momenta
  TRELLIS_SITE_FN void operator()(int thread, int slot) const {
    const int slice = first_ + slot / passes_, pass = slot % passes_;
    const int first = call_.momenta * pass / passes_, end = call_.momenta * (pass + 1) / passes_;
    switch (end - first) {
      case 1:
        return add<1>(thread, slice, first);
      case 2:
        return add<2>(thread, slice, first);
      case 3:
        return add<3>(thread, slice, first);
      default:
        return add<PartialSumsCall::momenta_a_pass>(thread, slice, first);
    }
  }

 private:
  using Number = ElementVector<double, 2>;

  template <int P>
  TRELLIS_SITE_FN void add(int thread, int slice, int momentum) const {
    const int piece = thread / call_.components, component = thread % call_.components;
    PartialSum* const row =
        call_.partials +
        2 *
            ((size_t(slice) * size_t(call_.pieces) + size_t(piece)) * size_t(call_.momenta) +
             size_t(momentum)) *
            size_t(call_.components) +
        2 * component;
    const size_t next = 2 * size_t(call_.components);  // this leads to the next momentum
    PartialSum sums[2 * P];
    if (!call_.is_first)
      unroll<P>([&](auto p) TRELLIS_INLINE_LAMBDA {
        sums[2 * p] = row[p * next];
        sums[2 * p + 1] = row[p * next + 1];
      });
    const size_t product_step = 2 * size_t(call_.components), phase_step = 2 * size_t(call_.momenta);
    const double* product = call_.products +
                            (size_t(slice) * size_t(call_.slice_sites) + size_t(piece)) * product_step +
                            2 * component;
    const double* phases =
        (slice % 2 == 0 ? call_.phases[0] : call_.phases[1]) + size_t(piece) * phase_step + 2 * momentum;
    for (int site = piece; site < call_.slice_sites; site += call_.pieces) {
      add_terms<P>(sums, product, phases);
      product += size_t(call_.pieces) * product_step;
      phases += size_t(call_.pieces) * phase_step;
    }
    unroll<P>([&](auto p) TRELLIS_INLINE_LAMBDA {
      row[p * next] = sums[2 * p];
      row[p * next + 1] = sums[2 * p + 1];
    });
  }

  TRELLIS_SITE_FN static Complex<double> number(const double* p) {
    const auto z = Number::load<Access::constant>(p);
    return {z.get<0>(), z.get<1>()};
  }

  template <int P>
  TRELLIS_SITE_FN static void add_terms(PartialSum (&sums)[2 * P], const double* product,
                                        const double* phases) {
    const Complex<double> z = number(product);
    double terms[2 * P];
    bool are_taken = true;
    unroll<P>([&](auto p) TRELLIS_INLINE_LAMBDA {
      const Complex<double> term = number(phases + 2 * p) * z;
      terms[2 * p] = term.re;
      terms[2 * p + 1] = term.im;
      are_taken = are_taken & sums[2 * p].takes(term.re) & sums[2 * p + 1].takes(term.im);
    });
    if (!are_taken) unroll<2 * P>([&](auto k) TRELLIS_INLINE_LAMBDA { terms[k] = sums[k].admit(terms[k]); });
    unroll<2 * P>([&](auto k) TRELLIS_INLINE_LAMBDA { sums[k].deposit(terms[k]); });
  }

  PartialSumsCall call_;
  int first_, passes_;
};

/// The sum of a part's first piece becomes that of all its pieces, or a total.
struct MergePartials {
  PartialSum* partials;  ///< [slice][piece][row]
  int rows, pieces;
  int count, step;     ///< a part has so many pieces, each `step` behind the last one
  PartialSum* totals;  ///< they are [slice][row]; null: sums stay where they are

  /// @param index slice * rows + row
  TRELLIS_SITE_FN void operator()(int index, int part) const {
    const int slice = index / rows, row = index % rows;
    const size_t first = size_t(slice) * size_t(pieces) + size_t(part) * size_t(count) * size_t(step);
    PartialSum* const all = partials + first * size_t(rows) + size_t(row);
    PartialSum sum = all[0];
    for (int i = 1; i < count; ++i) sum.merge(all[size_t(i) * size_t(step) * size_t(rows)]);
    (totals ? totals[index] : all[0]) = sum;
  }
};

inline constexpr int pieces_a_merge = 8;

/// It is built for CudaLayout. @pre pieces * components and slices * rows() are ints; a slice has at most
/// PartialSum::most_terms sites of both parities
template <class Layout>
void launch_partial_sums(const PartialSumsCall& call);
/// Sets totals[slice][row] to the sums of all pieces. It leaves the partial sums changed.
template <class Layout>
void launch_merge_partials(const PartialSumsCall& call, PartialSum* totals);
/// Writes the phases of sites that lie one to a block.
template <class Layout>
void launch_site_phases(const SitePhases& phases, const SiteRange& sites);

}  // namespace trellis
