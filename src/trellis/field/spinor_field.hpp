#pragma once
/// The fields of quarks have these names, each with its number of reals at a site.
#include "trellis/field/storage/site_field.hpp"

namespace trellis {

using SpinorField = SiteField;       ///< it has FieldSpec::reals = spinor_reals, the default
using ColorVectorField = SiteField;  ///< it has colour_vector_reals: staggered quarks
using CloverTermField = SiteField;   ///< it has clover_term_reals: two hermitian 6x6 blocks

inline constexpr int spinor_reals = 24, colour_vector_reals = 6, clover_term_reals = 72;

}  // namespace trellis
