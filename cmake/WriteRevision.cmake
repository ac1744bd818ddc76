# cmake -DSOURCE=<checkout> -DOUTPUT=<file> -P WriteRevision.cmake: a Python file with the revision of the sources by git,
# with -dirty where tracked files differ from it. It is written only where it changes. A tarball, which may lie in
# another project's checkout, or a machine without git: "unknown".
cmake_minimum_required(VERSION 3.25)
set(revision "unknown")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_QUIET)
  if(status EQUAL 0 AND found MATCHES "^[-+./_0-9A-Za-z]+$")
    set(revision "${found}")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "REVISION = \"@revision@\"\n" @ONLY)
