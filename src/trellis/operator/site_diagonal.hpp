#pragma once
/// Terms that are local to a site are passes of their own here.
#include <complex>

#include "trellis/device/site_range.hpp"
#include "trellis/field/spinor_field.hpp"

namespace trellis {

/// Computes out = A in on sites of one parity: A is the clover term given, or without one a + i b gamma5 of
/// the scalar a + i b. Works in place.
void multiply_site_diagonal(SpinorField& out, const SpinorField& in, int parity, const SpinorField* clover,
                            std::complex<double> scalar, const SiteRange& sites);
/// Does the same for all sites of the fields, without a clover term.
void multiply_chiral(SpinorField& out, const SpinorField& in, std::complex<double> scalar);

}  // namespace trellis
