# What `make install` copies: program, library, headers, and the files by which pkg-config and CMake find them.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/anybit)
install(TARGETS anybit anybit_cli EXPORT anybitTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/anybit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT anybitTargets NAMESPACE anybit:: DESTINATION ${package_dir})

# The manual page and the shells' completion are what the program says of itself.
set(shell ${PROJECT_BINARY_DIR}/shell)
add_custom_command(TARGET anybit_cli POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory ${shell}
  COMMAND anybit_cli man > ${shell}/anybit.1
  COMMAND anybit_cli completion bash > ${shell}/anybit
  COMMAND anybit_cli completion zsh > ${shell}/_anybit)
install(FILES ${shell}/anybit.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${shell}/anybit DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${shell}/_anybit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

configure_file(${PROJECT_SOURCE_DIR}/cmake/anybitConfig.cmake.in ${PROJECT_BINARY_DIR}/package/anybitConfig.cmake @ONLY)
# Before 1.0 a new minor version may break callers.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/anybitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/anybitConfig.cmake ${PROJECT_BINARY_DIR}/package/anybitConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix is only known when installing: the paths in anybit.pc are relative to the file itself.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(${PROJECT_SOURCE_DIR}/cmake/anybit.pc.in ${PROJECT_BINARY_DIR}/package/anybit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/anybit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
