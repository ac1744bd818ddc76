# install(): headers, libraries and find_package(trellis) -> trellis::trellis.

include(CMakePackageConfigHelpers)
get_property(trellis_folder_targets GLOBAL PROPERTY TRELLIS_FOLDER_TARGETS)

install(TARGETS trellis trellis_options trellis_hdf5 ${trellis_folder_targets}
        EXPORT trellisTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT trellisTargets NAMESPACE trellis::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trellis COMPONENT development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/trellis ${CMAKE_BINARY_DIR}/generated/trellis
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")

configure_package_config_file(cmake/trellisConfig.cmake.in ${CMAKE_BINARY_DIR}/trellisConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trellis)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/trellisConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/trellisConfig.cmake ${CMAKE_BINARY_DIR}/trellisConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trellis COMPONENT development)
