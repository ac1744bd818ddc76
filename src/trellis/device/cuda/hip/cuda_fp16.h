#pragma once
/// hipcc finds this file in the place of CUDA's.
#include <hip/hip_fp16.h>
