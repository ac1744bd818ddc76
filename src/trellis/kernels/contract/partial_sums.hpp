#pragma once
/// Products are summed over the sites of time slices here, with a phase for each momentum, in the memory of a
/// device. The sums are exact, with the same bits as those of slice_sums.hpp, and all momenta take few passes
/// over the products.
#include "trellis/algebra/partial_sum.hpp"
#include "trellis/kernels/contract/momentum_phases.hpp"
#include "trellis/kernels/contract/site_products.hpp"

namespace trellis {

/// Threads add the terms of a slice's sites, each those of every threads-th site, to partial sums, which are
/// merged when the slice is complete.
struct PartialSumsCall {
  static constexpr int threads = 128;       ///< each row has so many partial sums
  static constexpr int momenta_a_pass = 4;  ///< a thread has so many, and reads the products once for them
  ProductBuffer products;                   ///< it has some time slices, one after the other
  int components = 0, momenta = 1;
  int slices = 1, slice_sites = 0;  ///< there are so many slices, and sites of each
  const double* phases = nullptr;   ///< [momentum][re, im][stride]
  PartialSum* partials = nullptr;   ///< [slice][row][thread], row = [momentum][component][re, im]
  bool is_first = false;            ///< what is in the partial sums does not count
  int rows() const { return momenta * components * 2; }
  size_t partial_count() const { return size_t(slices) * size_t(rows()) * threads; }
};

/// It is one thread of a slice, for one component and some momenta.
class AddToPartials {
 public:
  /// @param first of the passes over the products, each of some momenta
  AddToPartials(const PartialSumsCall& call, int first) : call_{call}, first_{first} {}

  /// @param thread slice * threads + thread; slot: component + components * (pass - first)
  TRELLIS_SITE_FN void operator()(int thread, int slot) const {
    constexpr int T = PartialSumsCall::threads, most = PartialSumsCall::momenta_a_pass;
    const int slice = thread / T, component = slot % call_.components;
    const int first = (first_ + slot / call_.components) * most;  // this is a momentum
    PartialSum sums[2 * most];
    if (!call_.is_first)
      unroll<most>([&](auto p) TRELLIS_INLINE_LAMBDA {
        if (first + p >= call_.momenta) return;
        sums[2 * p] = *partial(thread, first + p, component, 0);
        sums[2 * p + 1] = *partial(thread, first + p, component, 1);
      });
    const int begin = slice * call_.slice_sites, end = begin + call_.slice_sites;
    const double* re = call_.products.row(2 * component, 0);
    const double* im = call_.products.row(2 * component + 1, 0);
    for (int site = begin + thread % T; site < end; site += T) {
      const Complex<double> product{re[site], im[site]};
      unroll<most>([&](auto p) TRELLIS_INLINE_LAMBDA {
        if (first + p >= call_.momenta) return;
        const double* phase = call_.phases + size_t(2 * (first + p)) * size_t(call_.products.stride) + site;
        const Complex<double> term = Complex<double>{phase[0], phase[call_.products.stride]} * product;
        sums[2 * p].add(term.re);
        sums[2 * p + 1].add(term.im);
      });
    }
    unroll<most>([&](auto p) TRELLIS_INLINE_LAMBDA {
      if (first + p >= call_.momenta) return;
      *partial(thread, first + p, component, 0) = sums[2 * p];
      *partial(thread, first + p, component, 1) = sums[2 * p + 1];
    });
  }

 private:
  TRELLIS_SITE_FN PartialSum* partial(int thread, int momentum, int component, int part) const {
    constexpr int T = PartialSumsCall::threads;
    const int row = 2 * (momentum * call_.components + component) + part;
    const int rows = 2 * call_.momenta * call_.components;
    return call_.partials + (size_t(thread / T) * size_t(rows) + size_t(row)) * T + thread % T;
  }

  PartialSumsCall call_;
  int first_;
};

/// The first partial sum of a row, or of a piece of one, becomes that of all of them.
struct MergePartials {
  PartialSum* partials;  ///< [row][piece][count][step]
  int pieces, count, step;
  PartialSum* totals;  ///< they are [row][piece]; null: sums stay where they are

  TRELLIS_SITE_FN void operator()(int row, int piece) const {
    const size_t index = size_t(row) * size_t(pieces) + size_t(piece);
    PartialSum* all = partials + index * size_t(count) * size_t(step);
    PartialSum sum = all[0];
    for (int i = 1; i < count; ++i) sum.merge(all[size_t(i) * size_t(step)]);
    (totals ? totals[index] : all[0]) = sum;
  }
};

/// It is built for CudaLayout. @pre slices * threads and slices * rows() are ints; a slice has at most
/// PartialSum::most_terms sites of both parities
template <class Layout>
void launch_partial_sums(const PartialSumsCall& call);
/// Sets totals[slice][row] to the sums of all threads. It leaves the partial sums changed.
template <class Layout>
void launch_merge_partials(const PartialSumsCall& call, PartialSum* totals);
/// Writes the phases of a chunk of sites that lie one to a block.
template <class Layout>
void launch_site_phases(const SitePhases& phases, int momenta, const SiteRange& sites);

}  // namespace trellis
