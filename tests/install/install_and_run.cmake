# cmake -DBUILD=... -DSOURCE=... -DSCRATCH=... -P install_and_run.cmake

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGV})
    message(FATAL_ERROR "failed (${status}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH}/prefix ${SCRATCH}/program)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component development)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/program -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --build ${SCRATCH}/program)
run(${SCRATCH}/program/program)
message(STATUS "${output}")
