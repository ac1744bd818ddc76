// instantiate: BACKEND=cpu STORAGE=double,float LANES=1,4,8,16
// instantiate: BACKEND=emulated,cuda STORAGE=double,float
#include "trellis/kernels/glass/spin_sums.hpp"

#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"

namespace trellis {

namespace {
/// It does all items of a launch on a GPU.
template <class Terms>
struct TermsOfItems {
  Terms of_site;
  TRELLIS_SITE_FN void operator()(int site, int item, double (&terms)[Terms::rows]) const {
    of_site.terms(site, item, terms);
  }
};

/// It does all items of a block, whose terms go to the sums of the samples that its lanes belong to.
template <class Terms>
struct PushedTerms {
  const Terms& of_block;
  const SiteRange& range;
  int items, sample_lanes;

  template <class Buffers>
  void operator()(int begin, int end, Buffers* buffers) const {
    for (int item = 0; item < items; ++item)
      for (int i = begin; i < end; ++i) {
        typename Terms::Double terms[Terms::rows];
        of_block.terms(range.list != nullptr ? range.list[i] : i, item, terms);
        push(terms, item, buffers);
      }
  }

 private:
  template <class Buffers>
  void push(const typename Terms::Double (&terms)[Terms::rows], int item, Buffers* buffers) const {
    const int lanes = Terms::W / sample_lanes;
    for (int sample = 0; sample < sample_lanes; ++sample) {
      Buffers* of_sample = buffers + (sample * items + item) * Terms::rows;
      for (int row = 0; row < Terms::rows; ++row) {
        if (sample_lanes == 1)
          of_sample[row].push(terms[row]);
        else
          for (int i = 0; i < lanes; ++i) of_sample[row].push(lane(terms[row], sample * lanes + i));
      }
    }
  }
};

template <class Layout, class Terms>
void sum_terms(const SpinSumsCall& call, const SiteRange& blocks, ExactSum* sums) {
  const Terms terms(call);
  if constexpr (launch::is_on_gpu<Layout>) {
    launch::reduce_sites<size_t(Terms::rows)>(blocks, call.items, TermsOfItems<Terms>{terms}, sums);
  } else {
    launch::reduce_pushed_rows(blocks, call.sample_lanes * call.items * Terms::rows,
                               PushedTerms<Terms>{terms, blocks, call.items, call.sample_lanes}, sums);
  }
}

template <class Layout, class Around>
void sum_around(SpinSums kind, const SpinSumsCall& call, const SiteRange& blocks, ExactSum* sums) {
  if (kind == SpinSums::energy)
    sum_terms<Layout, SpinTerms<Around, SpinSums::energy>>(call, blocks, sums);
  else if (kind == SpinSums::bonds)
    sum_terms<Layout, SpinTerms<Around, SpinSums::bonds>>(call, blocks, sums);
  else
    sum_terms<Layout, SpinTerms<Around, SpinSums::chirality>>(call, blocks, sums);
}
}  // namespace

/// Sums are rare, and all blocks are read by the tables of single sites where some have ghosts.
template <class Layout, class Storage>
void launch_spin_sums(SpinSums kind, const SpinSumsCall& call, bool has_ghosts, const SiteRange& blocks,
                      ExactSum* sums) {
  const bool has_signs = call.around.signs != nullptr;
  if (kind == SpinSums::overlap)  // there are no neighbours: any way to them will do
    sum_terms<Layout, SpinTerms<SpinNeighbourhood<Layout, Storage, false, false>, SpinSums::overlap>>(
        call, blocks, sums);
  else if (kind == SpinSums::magnetisation)
    sum_terms<Layout, SpinTerms<SpinNeighbourhood<Layout, Storage, false, false>, SpinSums::magnetisation>>(
        call, blocks, sums);
  else if (has_signs && has_ghosts)
    sum_around<Layout, SpinNeighbourhood<Layout, Storage, true, true>>(kind, call, blocks, sums);
  else if (has_signs)
    sum_around<Layout, SpinNeighbourhood<Layout, Storage, true, false>>(kind, call, blocks, sums);
  else if (has_ghosts)
    sum_around<Layout, SpinNeighbourhood<Layout, Storage, false, true>>(kind, call, blocks, sums);
  else
    sum_around<Layout, SpinNeighbourhood<Layout, Storage, false, false>>(kind, call, blocks, sums);
}

template void launch_spin_sums<InstantiatedLayout, InstantiatedStorage>(SpinSums, const SpinSumsCall&, bool,
                                                                        const SiteRange&, ExactSum*);

}  // namespace trellis
