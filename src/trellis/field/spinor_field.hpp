#pragma once
/// The names of fields that quarks have, and how many reals each has at a site.
#include "trellis/field/storage/site_field.hpp"

namespace trellis {

using SpinorField = SiteField;       ///< FieldSpec::reals = spinor_reals, the default
using ColorVectorField = SiteField;  ///< colour_vector_reals: staggered quarks
using CloverTermField = SiteField;   ///< clover_term_reals: two hermitian 6x6 blocks

inline constexpr int spinor_reals = 24, colour_vector_reals = 6, clover_term_reals = 72;

}  // namespace trellis
