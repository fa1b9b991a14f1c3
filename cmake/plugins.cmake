# Code generators: plugins/NAME-gen becomes libNAME-gen.so, in the folder where the library searches for plugins. They only
# see include/anybit and their own files. entry.cpp defines anybit_codegen_entry; the other files are an object library
# (NAME-gen_objects), which another generator may link. A table.hpp gets its table, in namespace anybit::NAMEgen.
set(names "")
set(plugin_dir anybit/codegen)
file(GLOB plugins CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/plugins/*-gen)
foreach(folder IN LISTS plugins)
  get_filename_component(name ${folder} NAME)
  string(REPLACE "-" "" namespace ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/entry\\.cpp$")
  anybit_table(sources ${folder} table.hpp anybit::${namespace} Descriptor descriptors table)
  add_library(${name}_objects OBJECT ${sources})
  target_include_directories(${name}_objects PUBLIC ${PROJECT_SOURCE_DIR}/include ${folder})
  # The generated code must be fast, not the generator; see cmake/folders.cmake.
  target_compile_options(${name}_objects PRIVATE ${ANYBIT_WARNINGS} $<$<CONFIG:Release>:-O1> -Wno-free-nonheap-object)
  target_link_libraries(${name}_objects PUBLIC fmt::fmt)
  list(APPEND names ${name})
  add_library(${name} MODULE ${folder}/entry.cpp)
  target_compile_options(${name} PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(${name} PRIVATE ${name}_objects)
  set_target_properties(${name} PROPERTIES PREFIX lib
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${plugin_dir})
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${plugin_dir})
endforeach()
set(ANYBIT_PLUGINS ${names})
# so-gen compiles the output of c-gen.
if(TARGET so-gen)
  target_link_libraries(so-gen PRIVATE c-gen_objects ${CMAKE_DL_LIBS})
endif()
add_custom_target(plugins)
if(names)
  add_dependencies(plugins ${names})
endif()
