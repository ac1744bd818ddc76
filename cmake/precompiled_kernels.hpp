#pragma once
/// What kernels include, parsed once for all their instantiations (option TRELLIS_PRECOMPILE): nothing that
/// depends on the storage or the lanes of one of them.
#include "trellis/algebra/fixed_point.hpp"
#include "trellis/algebra/float16.hpp"
#include "trellis/algebra/lane_math.hpp"
#include "trellis/algebra/spinor.hpp"
#include "trellis/algebra/su3.hpp"
#include "trellis/base/error.hpp"
#include "trellis/device/launch.hpp"
#include "trellis/view/gauge_view.hpp"
#include "trellis/view/hop_view.hpp"
#include "trellis/view/layout.hpp"
#include "trellis/view/site_array.hpp"
