#pragma once
/// This file has stochastic sources. Their numbers are those of doc/random_numbers.md: functions of the seed
/// and the global site, the same on every process grid.
#include <cstdint>

#include "trellis/measure/source.hpp"

namespace trellis {

struct Noise {
  NoiseKind kind = NoiseKind::z4;
  uint64_t seed = 0, stream = 0;
  uint32_t configuration = 0;  ///< it is the number of the configuration or trajectory
  uint32_t index = 0;          ///< it is the number of the noise field
};

/// Column (spin, colour) is eta(x) at the sites of time slice `time` (or at all sites): one number a site
/// serves all columns (spin-colour dilution). Averaged over eta, meson correlators of the propagator are sums
/// over point sources on the slice (the one-end trick). The place `at` is (0, 0, 0, time), or the origin.
/// The purpose is source_noise, and draw = index. With corners, the source has the same numbers on the
/// corners of cubes, and zero elsewhere.
Source noise_source(const LatticePtr& lattice, const Noise& noise, int time = all_times,
                    SourceKind kind = SourceKind::spinor, SourceSites sites = SourceSites::all,
                    Backend backend = {});

/// Returns `count` noise fields of independent components, the numbers index, index + 1, ... in the
/// right-hand sides of a full field in double. They serve traces: E[eta_i conj(eta_j)] = delta_ij. The
/// purpose is trace_noise, and draw = 12 index + 3 spin + colour.
/// @pre count >= 1
SpinorField noise_vectors(const LatticePtr& lattice, const Noise& noise, int count, Backend backend = {});
/// Fills a full field, of spinors or colour vectors, with such numbers: draw = reals / 2 index + component.
void set_trace_noise(SpinorField& field, const Noise& noise);

}  // namespace trellis
