# cmake --install: the library, et.h, the C++ headers, the etrt command, and what find_package(etrt) and pkg-config need.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS etrt etrt_cpp EXPORT etrtTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET etrt_command)
  set_target_properties(etrt_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS etrt_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/capi/et.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/et DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/etrt)
install(EXPORT etrtTargets NAMESPACE etrt:: FILE etrtTargets.cmake DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/etrtConfig.cmake.in
  ${PROJECT_BINARY_DIR}/etrtConfig.cmake INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/etrtConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/etrtConfig.cmake ${PROJECT_BINARY_DIR}/etrtConfigVersion.cmake
  DESTINATION ${config_dir})

# For pkg-config; relative to the file itself, so that an installation may be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_PREFIX}/${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/etrt.pc.in ${PROJECT_BINARY_DIR}/etrt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/etrt.pc DESTINATION ${pc_dir})
