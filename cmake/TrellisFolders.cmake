# trellis_add_folder(<name> [SEES <folder>...] [USES <target>...] [PUBLIC_USES <target>...])
#
# Makes the target trellis_<name> of all *.cpp below src/trellis/<name> (an INTERFACE target while there
# are none). SEES is the dependency rule: the folders it links to, and may include, with all that those
# see. tools/check_dependencies.py reads the same lines. USES are external libraries.
#
#   */mpi/*              with TRELLIS_MPI=ON only
#   */cuda/*, *.cu       with TRELLIS_CUDA=ON only
#   */simulated/*        with TRELLIS_CUDA_SIMULATED=ON only
#   x.launch.cpp         once for every backend and instantiation, see TrellisKernels.cmake; for the backend cuda
#                        with TRELLIS_CUDA=ON, or as C++ with TRELLIS_CUDA_SIMULATED=ON

set_property(GLOBAL PROPERTY TRELLIS_FOLDER_TARGETS "")
set_property(GLOBAL PROPERTY TRELLIS_CUDA_TARGETS "")

# trellis_precompile(<target> [<header>...]): cmake/precompiled.hpp, and more, before each of its files.
function(trellis_precompile target)
  if(NOT TRELLIS_PRECOMPILE OR TRELLIS_SANITIZE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/cmake/precompiled.hpp>" ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # for ccache
  endif()
endfunction()

# trellis_reuse_precompiled(<target> <other>): what trellis_precompile made for a target with the same flags.
# (Folders for include files may differ; each precompilation takes as long as three files.)
function(trellis_reuse_precompiled target other)
  if(TRELLIS_PRECOMPILE AND NOT TRELLIS_SANITIZE)
    target_precompile_headers(${target} REUSE_FROM ${other})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
  endif()
endfunction()

set(trellis_kernels_header
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/cmake/precompiled_kernels.hpp>")

# trellis_precompile_folder(<name>): one precompilation for all folders with the same flags: without OpenMP,
# and with it and -O2. Kernels have their own, and device/ has, without -O2.
function(trellis_precompile_folder name)
  if(name STREQUAL "kernels")
    trellis_precompile(trellis_kernels ${trellis_kernels_header})
  elseif(name MATCHES "^(base|comm|device)$")
    trellis_precompile(trellis_${name})
  elseif(name MATCHES "^(algebra|lattice|view)$")
    trellis_reuse_precompiled(trellis_${name} trellis_base)
  else()
    trellis_reuse_precompiled(trellis_${name} trellis_comm)
  endif()
endfunction()

# What -O1 takes; where g++ has these two, they are parts of -O2 on which precompiled headers insist.
set(trellis_slow_options "$<$<CONFIG:Release>:-O1>")
if(TRELLIS_HAS_SMALL_LOOPS_OPTION)
  set(trellis_slow_options "$<$<CONFIG:Release>:-O1;-munroll-only-small-loops;-mvzeroupper>")
endif()

# trellis_compile_together(<target>): headers take most of the time of a short file, so that files of a folder are
# compiled together (option TRELLIS_UNITY). Names of unnamed namespaces are therefore unique in a folder.
function(trellis_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TRELLIS_UNITY} UNITY_BUILD_BATCH_SIZE 24)
endfunction()

# trellis_launch_pattern(<variable> LESS|GREATER): a pattern for CPU launches of fewer or more lanes than native_lanes().
function(trellis_launch_pattern output comparison)
  set(choices "")
  foreach(lanes 1 4 8 16)
    if(lanes ${comparison} TRELLIS_LANES_DOUBLE)
      list(APPEND choices "double\\.${lanes}")
    endif()
    if(lanes ${comparison} TRELLIS_LANES_OTHER)
      list(APPEND choices "(float|Half|Fp16)\\.${lanes}")
    endif()
  endforeach()
  list(JOIN choices "|" choices)
  set(${output} "\\.(${choices})\\.cpu\\.cpp$" PARENT_SCOPE)
endfunction()

# Coarse fields of multigrid have one lane; their kernels take the numbers of a site together.
set(trellis_fast_narrow_launches "/(coarse_hop|coarse_transfer|linear_algebra|many_fields)\\.float\\.1\\.cpu")

# trellis_kernels_of_another_build(<variable> <name> <folder>...): the target of the library that TRELLIS_KERNELS_FROM
# has of folder <name>, which sees these folders. Kernels know neither MPI nor GPUs nor sanitizers, so that builds with
# and without them can share what takes most of their time. A build step refuses kernels of other sources.
function(trellis_kernels_of_another_build output name)
  set(library ${TRELLIS_KERNELS_FROM}/src/libtrellis_${name}.a)
  if(NOT EXISTS ${library})
    message(FATAL_ERROR "TRELLIS_KERNELS_FROM: there is no ${library}; build the target trellis_${name} there first")
  endif()
  set(target trellis_${name}_of_another_build)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${library})
  foreach(seen IN LISTS ARGN)
    target_link_libraries(${target} INTERFACE trellis_${seen})
  endforeach()
  set(${output} ${target} PARENT_SCOPE)
endfunction()

function(trellis_add_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "SEES;USES;PUBLIC_USES")
  set(root ${CMAKE_SOURCE_DIR}/src/trellis/${name})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${root}/*.cpp)
  if(NOT TRELLIS_MPI)
    list(FILTER files EXCLUDE REGEX "/mpi/")
  endif()
  if(NOT TRELLIS_CUDA)
    list(FILTER files EXCLUDE REGEX "/cuda/")
  endif()
  if(NOT TRELLIS_CUDA_SIMULATED)
    list(FILTER files EXCLUDE REGEX "/simulated/")
  endif()
  set(kernels ${files})
  list(FILTER kernels INCLUDE REGEX "\\.launch\\.cpp$")
  list(FILTER files EXCLUDE REGEX "\\.launch\\.cpp$")
  set(launches "")
  trellis_kernel_sources(launches "cpu;emulated" ${kernels})
  if(launches AND TRELLIS_FUZZ)
    set_source_files_properties(${launches} PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
  elseif(launches AND TRELLIS_SANITIZE)
    # With the undefined-behaviour sanitizer a kernel takes g++ two minutes, without it ten seconds.
    set_source_files_properties(${launches} PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
  elseif(launches)
    # Fewer lanes than the registers hold serve small lattices only.
    trellis_launch_pattern(pattern LESS)
    set(slow_launches ${launches})
    list(FILTER slow_launches INCLUDE REGEX "${pattern}")
    list(FILTER slow_launches EXCLUDE REGEX "${trellis_fast_narrow_launches}")
    set_source_files_properties(${slow_launches} PROPERTIES COMPILE_OPTIONS "${trellis_slow_options}")
  endif()
  # More lanes than the registers hold, and the emulated GPU layout, are there for tests of the bits: no run
  # chooses them. Where TRELLIS_KERNELS_FOR_TESTS is off they are left out; field/storage/dispatch.hpp then refuses them by built_kernels.hpp.
  trellis_launch_pattern(pattern GREATER)
  set(for_tests ${launches})
  list(FILTER for_tests INCLUDE REGEX "${pattern}|\\.emulated\\.cpp$")
  list(REMOVE_ITEM launches ${for_tests} "")
  if(NOT TRELLIS_KERNELS_FOR_TESTS)
    set(for_tests "")
  endif()
  set(compiled_elsewhere "")
  if(launches AND TRELLIS_KERNELS_FROM)
    trellis_kernels_of_another_build(compiled_elsewhere ${name} ${folder_SEES})
    set(launches "")
    set(for_tests "")
  endif()
  list(APPEND files ${launches})
  if(TRELLIS_CUDA_SIMULATED)
    set(simulated "")
    trellis_kernel_sources(simulated cuda ${kernels})
    if(simulated)
      # Without forced inlining they take a quarter of the time, and -O1 without line numbers six tenths of -O2's.
      set_source_files_properties(${simulated} PROPERTIES LANGUAGE CXX
        COMPILE_OPTIONS "-xc++;-O1;-g0" COMPILE_DEFINITIONS TRELLIS_FOR_TESTS=1 SKIP_PRECOMPILE_HEADERS ON)
    endif()
    list(APPEND files ${simulated})
  endif()

  set(cuda_files "")
  if(TRELLIS_CUDA)
    file(GLOB_RECURSE cuda_files CONFIGURE_DEPENDS ${root}/*.cu)
    trellis_kernel_sources(cuda_files cuda ${kernels})
  endif()

  set(target trellis_${name})
  if(files OR cuda_files)
    add_library(${target} STATIC ${files})
    set(public PUBLIC)
    set(private PRIVATE)
  else()
    add_library(${target} INTERFACE)
    set(public INTERFACE)
    set(private INTERFACE)
  endif()
  set(visible trellis_options)
  foreach(seen IN LISTS folder_SEES)
    list(APPEND visible trellis_${seen})
  endforeach()
  target_link_libraries(${target} ${public} ${compiled_elsewhere} ${visible} ${folder_PUBLIC_USES})
  target_link_libraries(${target} ${private} ${folder_USES})
  if(for_tests)
    # A target of its own, which has another precompiled header.
    add_library(${target}_for_tests OBJECT ${for_tests})
    target_compile_definitions(${target}_for_tests PRIVATE TRELLIS_FOR_TESTS=1)
    target_compile_options(${target}_for_tests PRIVATE "${trellis_slow_options}")
    target_link_libraries(${target}_for_tests PRIVATE ${visible} ${folder_PUBLIC_USES} ${folder_USES})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_for_tests>)
    trellis_precompile(${target}_for_tests ${trellis_kernels_header})
  endif()
  if(files)
    if(NOT name MATCHES "^(device|kernels)$")  # elsewhere no loop takes time in a run
      # Without vectors of single statements: g++ 12 makes fused additions of complex products there although
      # -ffp-contract=off forbids it, and bits would depend on what it finds.
      target_compile_options(${target} PRIVATE
        "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2;-fno-tree-slp-vectorize>")
    endif()
    trellis_precompile_folder(${name})
    if(NOT name STREQUAL "kernels")
      trellis_compile_together(${target})
    endif()
    if(name MATCHES "^(base|io)$")
      trellis_fuzz_options(${target} READS)
    else()
      trellis_fuzz_options(${target})
    endif()
  endif()
  if(cuda_files)
    # An object library, so that CI can compile the CUDA part alone: target trellis_cuda.
    add_library(${target}_cuda OBJECT ${cuda_files})
    target_link_libraries(${target}_cuda PRIVATE ${visible} ${folder_PUBLIC_USES} ${folder_USES})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cuda>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    set_property(GLOBAL APPEND PROPERTY TRELLIS_CUDA_TARGETS ${target}_cuda)
  endif()
  set_property(GLOBAL APPEND PROPERTY TRELLIS_FOLDER_TARGETS ${target})
endfunction()

# An INTERFACE target (a folder without sources) takes INTERFACE only.
function(trellis_folder_uses name scope)
  get_target_property(type trellis_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  endif()
  target_link_libraries(trellis_${name} ${scope} ${ARGN})
endfunction()

function(trellis_folder_defines name)
  get_target_property(type trellis_${name} TYPE)
  set(scope PUBLIC)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  endif()
  target_compile_definitions(trellis_${name} ${scope} ${ARGN})
  if(TARGET trellis_${name}_cuda)
    target_compile_definitions(trellis_${name}_cuda PRIVATE ${ARGN})
  endif()
endfunction()

# trellis_list_solver_methods(): the table of solver/solver_methods.hpp, one entry for each file in solver/methods.
function(trellis_list_solver_methods)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/trellis/solver/methods/*.cpp)
  set(declarations "")
  set(entries "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declarations "extern const SolverMethod ${name}_method;\n")
    string(APPEND entries "      &${name}_method,\n")
  endforeach()
  set(table ${CMAKE_BINARY_DIR}/generated/solver_method_table.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"#include \"trellis/solver/solver_methods.hpp\"

namespace trellis {

@declarations@
const std::vector<const SolverMethod*>& solver_methods() {
  static const std::vector<const SolverMethod*> methods{
@entries@  };
  return methods;
}

}  // namespace trellis
")
  target_sources(trellis_solver PRIVATE ${table})
endfunction()
