# cmake -DBUILD=... -DSOURCE=... -DSCRATCH=... -P install_and_run.cmake
# The prefix is moved before it is used: nothing in it may know where it was.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGV})
    message(FATAL_ERROR "failed (${status}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH}/prefix ${SCRATCH}/moved ${SCRATCH}/program)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component development)
if(PYTHON)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component python)
endif()
file(RENAME ${SCRATCH}/prefix ${SCRATCH}/moved)
if(PYTHON)
  run(${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${SCRATCH}/moved/bin/trellis --version)
  # This runs the compiled part of the moved prefix.
  run(${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${SCRATCH}/moved/bin/trellis doctor --quick --json)
  string(FIND "${output}" "${VERSION}" at)
  if(at LESS 0)
    message(FATAL_ERROR "no version ${VERSION} in: ${output}")
  endif()
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/program -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
run(${CMAKE_COMMAND} --build ${SCRATCH}/program)
run(${SCRATCH}/program/program)
message(STATUS "${output}")
