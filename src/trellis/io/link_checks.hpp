#pragma once
/// This file says in words what is wrong with links that are not SU(3), and in which format they would be.
#include "trellis/io/gauge_format.hpp"

namespace trellis::io {

/// Links count as SU(3) to this: it is far above single precision, and far below a wrong bit in an exponent.
inline constexpr double unitarity_tolerance = 1e-4;

/// It counts how many of the first links of the file (64 KiB at most) are SU(3) if their numbers are stored
/// in this format. @pre a binary format, inspected. Collective.
struct LinkSample {
  int64_t links = 0, special_unitary = 0;
  bool is_good() const { return links > 0 && special_unitary == links; }
};
LinkSample sample_links(InputFile& file, const GaugeFileHeader& header, RealFormat format);

/// Returns, for the first bad link in the order of ILDG, "2 of 512 links are not SU(3); the first, U_x(x=3,
/// y=0, z=1, t=2), has nan in row 1, column 1 (real part)", and an empty text where all links (canonical,
/// this rank's) are SU(3). Collective.
std::string describe_bad_links(Communicator& communicator, const Geometry& geometry, const double* links);

/// Adds warnings for links (canonical, this rank's) of which some are not SU(3). They tell how many, the
/// first one and what it holds, and another byte order or precision in which the file's first links are
/// SU(3). Collective.
void explain_bad_links(InputFile& file, GaugeFileHeader& header, const Geometry& geometry,
                       const double* links);

}  // namespace trellis::io
