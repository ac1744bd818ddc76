# Finds nvcc (on the PATH, in /usr/local/cuda, or as PyPI's nvidia-cuda-nvcc in the virtual environment)
# and sets its flags. Only *.cu files go through it.

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  file(GLOB trellis_pypi_nvcc ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/bin)
  find_program(TRELLIS_NVCC nvcc PATHS /usr/local/cuda/bin ${trellis_pypi_nvcc})
  if(NOT TRELLIS_NVCC)
    message(FATAL_ERROR "TRELLIS_CUDA is on, but nvcc was not found. "
      "`./bootstrap build --cuda` installs one into the virtual environment.")
  endif()
  set(CMAKE_CUDA_COMPILER ${TRELLIS_NVCC})
endif()
set(CMAKE_CUDA_ARCHITECTURES ${TRELLIS_CUDA_ARCHITECTURES})
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3")

# --fmad=false: as -ffp-contract=off for the CPU; fused multiply-adds are written out in the formulas.
# --resource-usage prints registers and spills; tools/check_machine_code.py compares both with a table.
set(trellis_cuda_flags --fmad=false --extended-lambda --expt-relaxed-constexpr --Werror=all-warnings
    --resource-usage -Xcompiler=-Wall,-Wextra,-ffp-contract=off)
target_compile_options(trellis_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:${trellis_cuda_flags}>>")
