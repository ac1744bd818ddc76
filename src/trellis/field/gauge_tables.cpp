#include "trellis/field/gauge_tables.hpp"

#include "trellis/base/error.hpp"
#include "trellis/field/dispatch.hpp"
#include "trellis/kernels/halo/link_halo.hpp"

namespace trellis {

GaugeTables::GaugeTables(ExtendedLayoutPtr layout, Backend backend)
    : layout_{std::move(layout)},
      backend_{backend},
      neighbours_{layout_->neighbours(), backend},
      inner_{layout_->inner(), backend},
      inner_of_{{layout_->inner(0), backend}, {layout_->inner(1), backend}} {
  TRELLIS_REQUIRE(backend != Backend::gpu_emulated, "gauge fields live on the backends cpu and cuda");
  TRELLIS_REQUIRE(backend == Backend::cpu || layout_->lanes() == 1, "a GPU has one lane, not ",
                  layout_->lanes());
}

int GaugeTables::stored_blocks() const {
  const int blocks = layout_->blocks();
  return backend_ == Backend::cpu ? blocks
                                  : (blocks + GpuLayout::warp - 1) / GpuLayout::warp * GpuLayout::warp;
}

ExtendedTables GaugeTables::views() const {
  ExtendedTables t;
  t.neighbours = neighbours_.data();
  if (backend_ == Backend::cpu) {  // with one lane nothing is displaced
    t.shift_sums = layout_->shift_sums().data();
    t.permutations = layout_->permutations();
  }
  for (int leg = 0; leg < 8; ++leg) t.shift[leg] = layout_->shift(leg);
  return t;
}

GaugeTables::Faces& GaugeTables::faces(const HaloPart& part, Communicator& communicator) const {
  const auto [at, is_new] = faces_.try_emplace(part);
  Faces& faces = at->second;
  if (!is_new) return faces;
  // Every rank has the same local lattice: what the neighbour behind lacks of this rank are, in the same
  // order, the sites that this rank lacks of the neighbour ahead.
  std::vector<int32_t> sources[2], ghosts[2];
  const int l = layout_->sub_extents()[part.mu];
  for_each_ghost(*layout_, part, [&](int step, const Coord& ghost, Coord source) {
    source[part.mu] = step > 0 ? source[part.mu] : l - 1 - source[part.mu];
    sources[step < 0].push_back(layout_->block_of(source));
    ghosts[step < 0].push_back(layout_->block_of(ghost));
  });
  faces.messages = std::make_unique<HaloMessages>(backend_);
  const Geometry& geometry = layout_->geometry();
  const int ahead = geometry.neighbour_rank(part.mu, 1), behind = geometry.neighbour_rank(part.mu, -1);
  for (int k = 0; k < 2; ++k) {
    faces.sources[k] = {sources[k], backend_};
    faces.ghosts[k] = {ghosts[k], backend_};
    const size_t bytes = sources[k].size() * size_t(part.links) * 18 * sizeof(double);
    faces.numbers[k] = faces.messages->add(k == 0 ? behind : ahead, k == 0 ? ahead : behind, k, bytes);
  }
  faces.messages->connect(communicator);
  return faces;
}

void GaugeTables::exchange(const RawField& links, const HaloPart& part, Communicator& communicator) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Faces& f = faces(part, communicator);
  const auto call = [&](const KernelTable<int32_t>& blocks, void* message) {
    return LinkFaceCall{links, part.first_link, part.links, blocks.data(), static_cast<double*>(message)};
  };
  const auto run = [&](const auto& launch) {
    dispatch(backend_, Precision::double_precision, 1, [&]<class Layout, class Storage>() {
      if constexpr (std::is_same_v<Layout, CudaLayout> && std::is_same_v<Storage, double>)
        for (int k = 0; k < 2; ++k) launch.template operator()<Layout>(k);
    });
  };
  f.messages->start([&] {
    run([&]<class Layout>(int k) {
      launch_link_pack<Layout, double>(call(f.sources[k], f.messages->send_buffer(f.numbers[k])),
                                       SiteRange(int(f.sources[k].size())));
    });
  });
  f.messages->finish([&] {
    run([&]<class Layout>(int k) {
      launch_link_unpack<Layout, double>(call(f.ghosts[k], f.messages->receive_buffer(f.numbers[k])),
                                         SiteRange(int(f.ghosts[k].size())));
    });
  });
}

}  // namespace trellis
