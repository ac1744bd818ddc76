// instantiate: BACKEND=cpu STORAGE=double,float,Half,Fp16 LANES=1,4,8,16
#include "trellis/kernels/multigrid/block_solve.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/kernels/instantiate.hpp"
#include "trellis/kernels/multigrid/block_copy.hpp"

namespace trellis {

namespace {
template <class Layout, class Storage, int LinkReals>
void solve(const BlockSolveCall& call, const SiteRange& blocks) {
  const BlockSolve<Layout, Storage, LinkReals> kernel(call);
  launch::for_each_in_scratch(blocks.size(), [&](int index, int thread) {
    void* const scratch = static_cast<char*>(call.scratch) + size_t(thread) * call.scratch_bytes;
    const int block = blocks.begin + index;
    kernel(block, block + 1 < blocks.end ? block + 1 : -1, scratch);
  });
}
[[noreturn]] void refuse(int link_reals) {
  throw BadArgument(message("links of ", link_reals, " reals are not among 18, 12"));
}
}  // namespace

template <class Layout, class Storage>
void launch_block_solve(const BlockSolveCall& call, const SiteRange& blocks) {
  if (call.link_reals == 18) return solve<Layout, Storage, 18>(call, blocks);
  if (call.link_reals == 12) return solve<Layout, Storage, 12>(call, blocks);
  refuse(call.link_reals);
}
template <class Layout, class Storage>
size_t block_scratch_bytes(int vectors) {
  return BlockScratch<Layout, Storage>::bytes(vectors);
}
template <class Layout, class Storage>
void launch_block_face(const BlockFaceCall& call, const SiteRange& vectors) {
  if (call.link_reals == 18)
    return launch::for_each_site(vectors, call.slots, BlockFace<Layout, Storage, 18>(call));
  if (call.link_reals == 12)
    return launch::for_each_site(vectors, call.slots, BlockFace<Layout, Storage, 12>(call));
  refuse(call.link_reals);
}
template <class Layout, class Storage>
void launch_copy_to_blocks(const BlockCopyCall& call, const SiteRange& vectors) {
  using Groups = CopyGroups<Layout, Storage>;
  if constexpr (Groups::is_legal)
    if (call.group_vectors != nullptr) {
      const Groups groups(call);
      return launch::for_each_site(SiteRange(vectors.size() / Layout::lanes), call.slots,
                                   [&](int group, int slot) { groups.to_blocks(group, slot); });
    }
  launch::for_each_site(vectors, call.slots, CopyToBlocks<Layout, Storage>(call));
}
template <class Layout, class Storage>
void launch_copy_from_blocks(const BlockCopyCall& call, const SiteRange& vectors) {
  using Groups = CopyGroups<Layout, Storage>;
  if constexpr (Groups::is_legal)
    if (call.group_vectors != nullptr) {
      const Groups groups(call);
      return launch::for_each_site(SiteRange(vectors.size() / Layout::lanes), call.slots,
                                   [&](int group, int slot) { groups.from_blocks(group, slot); });
    }
  launch::for_each_site(vectors, call.slots, CopyFromBlocks<Layout, Storage>(call));
}

template void launch_block_solve<InstantiatedLayout, InstantiatedStorage>(const BlockSolveCall&,
                                                                          const SiteRange&);
template size_t block_scratch_bytes<InstantiatedLayout, InstantiatedStorage>(int);
template void launch_block_face<InstantiatedLayout, InstantiatedStorage>(const BlockFaceCall&,
                                                                         const SiteRange&);
template void launch_copy_to_blocks<InstantiatedLayout, InstantiatedStorage>(const BlockCopyCall&,
                                                                             const SiteRange&);
template void launch_copy_from_blocks<InstantiatedLayout, InstantiatedStorage>(const BlockCopyCall&,
                                                                               const SiteRange&);

}  // namespace trellis
