# Options and compiler flags. Every target of the project links trellis_options.

option(TRELLIS_MPI "Parallel runs through MPI (off: one process, comm/single)" ON)
option(TRELLIS_CUDA "Compile the CUDA backend" OFF)
option(TRELLIS_CUDA_SIMULATED "Compile the CUDA backend for a GPU that is simulated on the host" OFF)
option(TRELLIS_PYTHON "Compile the Python module trellis._core" ON)
option(TRELLIS_TESTS "Compile the C++ tests" ON)
option(TRELLIS_BENCH "Compile the benchmarks" ON)
option(TRELLIS_SANITIZE "Compile with the address and undefined-behaviour sanitizers" OFF)
option(TRELLIS_FUZZ "Compile the libFuzzer programs of tests/fuzz (needs clang++)" OFF)
set(TRELLIS_ONLY_TESTS "" CACHE STRING "Tests to compile, such as test_subsets;test_two_hops (empty: all)")
option(TRELLIS_PRECOMPILE "Precompile standard headers (a third of the time of a build)" ON)
option(TRELLIS_UNITY "Compile many files of a folder at once (a third of their time); off, each file alone" ON)
set(TRELLIS_KERNELS_FROM "$ENV{TRELLIS_KERNELS_FROM}" CACHE PATH
    "A build folder of these sources, for the same processor, whose CPU kernels are linked instead of compiled again")
option(TRELLIS_STABLE_ABI "Compile the Python module for all Pythons from 3.12 on (abi3); untried" OFF)
set(TRELLIS_STATIC_LIBRARIES "" CACHE PATH
    "Prefix with libhdf5.a and libz.a, position-independent, that the Python module takes in with hidden symbols")
set(TRELLIS_ARCH native CACHE STRING "Instruction set, as -march takes it")
set(TRELLIS_CUDA_ARCHITECTURES "80;90" CACHE STRING "CUDA compute capabilities")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

find_program(TRELLIS_CCACHE ccache)
if(TRELLIS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TRELLIS_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/ccache_launcher ${TRELLIS_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TRELLIS_CCACHE})
endif()

# C++ flags only: nvcc gets its own in TrellisCuda.cmake.
# -ffp-contract=off: the compiler contracts packs of different width differently, and results must
# not depend on the width (doc/architecture.md).
# -falign-functions: short functions that are called for each block, and whose begin lay across a cache line, made passes
# over fields up to a fifth slower, as the linker happened to place them.
set(trellis_cxx_flags -ffp-contract=off -falign-functions=64 -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND trellis_cxx_flags -Wno-maybe-uninitialized)  # false alarms in its own AVX-512 headers
endif()
if(TRELLIS_ARCH)
  list(APPEND trellis_cxx_flags -march=${TRELLIS_ARCH})
endif()

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-march=${TRELLIS_ARCH}")
if(NOT TRELLIS_ARCH)
  set(CMAKE_REQUIRED_FLAGS "")
endif()
set(CMAKE_REQUIRED_QUIET TRUE)
foreach(feature AVX512 AVX)
  unset(TRELLIS_HAS_${feature} CACHE)  # follows TRELLIS_ARCH, which may have changed
  string(REPLACE AVX512 AVX512F macro __${feature}__)
  check_cxx_source_compiles("
#ifndef ${macro}
#error no ${feature}
#endif
int main() {}" TRELLIS_HAS_${feature})
endforeach()
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_QUIET)
# Lanes of double and of all else, as native_lanes() in base/precision.cpp has them.
set(TRELLIS_LANES_DOUBLE 4)
set(TRELLIS_LANES_OTHER 4)
if(TRELLIS_HAS_AVX512)
  set(TRELLIS_LANES_DOUBLE 8)
  set(TRELLIS_LANES_OTHER 16)
elseif(TRELLIS_HAS_AVX)
  set(TRELLIS_LANES_OTHER 8)
endif()
# Kernels with more lanes, and those of the emulated GPU layout, serve comparisons of bits in tests: no run chooses
# them. -DTRELLIS_KERNELS_FOR_TESTS=ON or OFF decides; by default they come with the tests.
if(NOT DEFINED TRELLIS_KERNELS_FOR_TESTS)
  set(TRELLIS_KERNELS_FOR_TESTS ${TRELLIS_TESTS})
endif()
if(TRELLIS_KERNELS_FOR_TESTS)
  set(TRELLIS_MOST_LANES_DOUBLE 16)
  set(TRELLIS_MOST_LANES_OTHER 16)
  set(TRELLIS_HAS_EMULATED_GPU true)
else()
  set(TRELLIS_MOST_LANES_DOUBLE ${TRELLIS_LANES_DOUBLE})
  set(TRELLIS_MOST_LANES_OTHER ${TRELLIS_LANES_OTHER})
  set(TRELLIS_HAS_EMULATED_GPU false)
endif()
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-munroll-only-small-loops TRELLIS_HAS_SMALL_LOOPS_OPTION)  # g++ 13 on x86
if(TRELLIS_HAS_AVX512)
  list(APPEND trellis_cxx_flags -mprefer-vector-width=512)
endif()

# Each program links everything, and GNU's other linker takes half of the time. In the module of a wheel it keeps symbols
# of a static libstdc++ that nobody calls, one of which needs glibc 2.36.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold TRELLIS_HAS_GOLD)
set(trellis_link_flags "")
if(TRELLIS_HAS_GOLD AND NOT TRELLIS_SANITIZE AND NOT TRELLIS_STATIC_LIBRARIES)
  list(APPEND trellis_link_flags $<BUILD_INTERFACE:-fuse-ld=gold>)
endif()
if(TRELLIS_SANITIZE)
  list(APPEND trellis_cxx_flags -fsanitize=address,undefined -fno-sanitize-recover=undefined
       -fno-omit-frame-pointer -g1)  # line numbers are what the sanitizers print; more costs minutes
  list(APPEND trellis_link_flags -fsanitize=address,undefined)
endif()
# trellis_fuzz_options(<target> [READS]): with the preset fuzz, only what reads files counts the branches that it takes and
# has checks of addresses in place. Elsewhere these are calls, which clang compiles up to four times faster.
function(trellis_fuzz_options target)
  if(TRELLIS_FUZZ AND "READS" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  elseif(TRELLIS_FUZZ)
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
  endif()
endfunction()
if(TRELLIS_CUDA_SIMULATED)
  list(APPEND trellis_cxx_flags -g1)  # enough for a backtrace; -g doubles the time of this build
endif()

add_library(trellis_options INTERFACE)
target_compile_features(trellis_options INTERFACE cxx_std_20)
# Programs outside this build choose their own warnings; what changes bits or layouts they must share.
target_compile_options(trellis_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${trellis_cxx_flags}>>")
set(trellis_installed_flags ${trellis_cxx_flags})
list(REMOVE_ITEM trellis_installed_flags -Wall -Wextra)
target_compile_options(trellis_options INTERFACE
  "$<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${trellis_installed_flags}>>")
target_link_options(trellis_options INTERFACE ${trellis_link_flags})
target_include_directories(trellis_options INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>"
  "$<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

# What `trellis doctor` and the provenance of every result say about the build.
string(TOUPPER "${CMAKE_BUILD_TYPE}" trellis_build_type_upper)
string(JOIN " " trellis_flags_text ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${trellis_build_type_upper}}
       -std=c++20 ${trellis_cxx_flags})
foreach(header build_configuration built_kernels)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${header}.hpp.in
                 ${CMAKE_BINARY_DIR}/generated/trellis/base/${header}.hpp @ONLY)
endforeach()
