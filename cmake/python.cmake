# The Python package: the module _anybit beside a copy of python/anybit, in build/…/python, from where tests import it. The
# component `python` installs the package with the library, the program and the generators inside: the content of a wheel.
if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cpp)
nanobind_add_module(_anybit PROTECT_STACK NB_STATIC NOMINSIZE ${sources})
target_compile_options(_anybit PRIVATE ${ANYBIT_WARNINGS})
target_link_libraries(_anybit PRIVATE anybit)
target_precompile_headers(_anybit PRIVATE <nanobind/nanobind.h> <nanobind/stl/vector.h>
                           ${PROJECT_SOURCE_DIR}/python/bindings/text.hpp)
set(package ${PROJECT_BINARY_DIR}/python/anybit)
set_target_properties(_anybit PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package} BUILD_RPATH "\$ORIGIN/../../lib"
                                         INSTALL_RPATH "\$ORIGIN/lib")

nanobind_add_stub(anybit_python_stub MODULE _anybit OUTPUT ${package}/_anybit.pyi PYTHON_PATH ${package}
                  DEPENDS _anybit)
add_custom_target(anybit_python ALL DEPENDS _anybit anybit_python_stub anybit_cli plugins anybit_ort
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/python/anybit ${package})

# A wheel has no symbolic links: the library is installed once, under its SONAME.
install(TARGETS _anybit LIBRARY DESTINATION anybit COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${package}/_anybit.pyi DESTINATION anybit COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/anybit/ DESTINATION anybit COMPONENT python EXCLUDE_FROM_ALL
        PATTERN __pycache__ EXCLUDE)
install(PROGRAMS $<TARGET_FILE:anybit> RENAME $<TARGET_SONAME_FILE_NAME:anybit> DESTINATION anybit/lib
        COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS anybit_cli RUNTIME DESTINATION anybit/bin COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS ${ANYBIT_PLUGINS} LIBRARY DESTINATION anybit/lib/${plugin_dir} COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS anybit_ort LIBRARY DESTINATION anybit/lib COMPONENT python EXCLUDE_FROM_ALL)
