#pragma once
/// Several faces of a halo are packed in one launch.
#include <type_traits>

#include "trellis/base/annotations.hpp"
#include "trellis/view/layout.hpp"

namespace trellis {

/// The sites of at most `most` faces stand behind each other in the range of one launch. On a GPU each face
/// begins with a block of threads of its own, so that all threads of a block have the same one.
template <class Layout, int most>
class FacesInRange {
 public:
  static constexpr int alignment = std::is_base_of_v<GpuLayout, Layout> ? 128 : 1;

  /// Adds the next face. @pre there are fewer than `most`
  void add(int sites) {
    size_[count_] = sites;
    begin_[count_ + 1] = begin_[count_] + (sites + alignment - 1) / alignment * alignment;
    ++count_;
  }
  int sites() const { return begin_[count_]; }  ///< counts those of the range
  int count() const { return count_; }

  /// Returns the face that a site of the range has. @pre the site is in the range
  TRELLIS_SITE_FN int face_of(int site) const {
    int face = 0;
    while (site >= begin_[face + 1]) ++face;
    return face;
  }
  TRELLIS_SITE_FN int begin(int face) const { return begin_[face]; }
  TRELLIS_SITE_FN int size(int face) const { return size_[face]; }

 private:
  int count_ = 0, begin_[most + 1] = {}, size_[most] = {};
};

/// It packs all faces of an exchange: faces.pack(face, index, slot) is called for all sites of each of
/// faces.count() faces, which have faces.sites(face), at most Faces::most.
template <class Layout, class Faces>
struct PackFaces {
  Faces faces;
  FacesInRange<Layout, Faces::most> all;

  explicit PackFaces(const Faces& of_exchange) : faces{of_exchange} {
    for (int face = 0; face < faces.count(); ++face) all.add(faces.sites(face));
  }
  int sites() const { return all.sites(); }  ///< counts those of the range
  TRELLIS_SITE_FN void operator()(int site, int slot) const {
    const int face = all.face_of(site), index = site - all.begin(face);
    if (index < all.size(face)) faces.pack(face, index, slot);
  }
};

}  // namespace trellis
