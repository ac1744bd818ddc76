# cmake -DSOURCE=<src/trellis> -DWORDS=<compiler and flags> -DOUTPUT=<header> -P WriteKernelHash.cmake
# One hash of all that kernels are made of (device/tuner.hpp). The header stays as it is where the hash does.
cmake_minimum_required(VERSION 3.25)
set(hashes "${WORDS}")
foreach(folder algebra view lattice device kernels)
  file(GLOB_RECURSE files ${SOURCE}/${folder}/*.hpp ${SOURCE}/${folder}/*.cpp ${SOURCE}/${folder}/*.cu
       ${SOURCE}/${folder}/*.cuh)
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 ${file} hash)
    string(APPEND hashes "\n${hash}")
  endforeach()
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "#pragma once
// Written by cmake/WriteKernelHash.cmake.

namespace trellis::kernel_source {
inline constexpr const char* hash = \"@hash@\";
}
")
