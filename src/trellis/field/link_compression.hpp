#pragma once
/// SU(3) links become fewer reals than the 18 of a 3x3 matrix.
#include "trellis/field/gauge_field.hpp"

namespace trellis {

/// Throws BadArgument for another number of reals than those that stored_reals writes.
void require_link_reals(int link_reals);

/// Writes the reals of a link as they are stored: 18 (all), 14 (two rows and the determinant), 12 (two rows),
/// or 8 (view/eight_real_links.hpp). @pre U is unitary for 14, and special unitary for 12 and 8, to rounding
void stored_reals(const Link& U, int link_reals, double* out);

}  // namespace trellis
