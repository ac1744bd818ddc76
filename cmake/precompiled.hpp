#pragma once
/// What most files include anyway, parsed once for each folder's target (option TRELLIS_PRECOMPILE). Every
/// file still includes what it uses: the presets fuzz, debug-sanitize and cuda compile without this.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
