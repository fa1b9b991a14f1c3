# anybit_folder(NAME DEPENDS … LINKS … NAMESPACE …) builds src/NAME/*.cpp as the object library anybit_NAME. Its namespace
# is anybit::NAME by default. A file FILE.cpp that defines `FILE_descriptors()` joins the folder's generated, sorted table.
# A folder may have a second table: collector_table.hpp has the rows CollectorDescriptor of `FILE_collector_descriptors()`.
set(ANYBIT_FOLDERS "")

# Adds a generated table to a folder's sources, if the folder has its header.
function(anybit_table list folder header namespace row suffix function)
  get_filename_component(file ${header} NAME_WE)
  if(NOT EXISTS ${folder}/${file}.hpp)
    return()
  endif()
  get_filename_component(name ${folder} NAME)
  set(table ${PROJECT_BINARY_DIR}/generated/${name}_${file}.cpp)
  add_custom_command(
    OUTPUT ${table}.stamp
    BYPRODUCTS ${table}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DHEADER=${header} -DNAMESPACE=${namespace} -DOUTPUT=${table}
            -DROW=${row} -DSUFFIX=${suffix} -DFUNCTION=${function}
            -P ${PROJECT_SOURCE_DIR}/cmake/make_table.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${table}.stamp
    DEPENDS ${${list}} ${PROJECT_SOURCE_DIR}/cmake/make_table.cmake
    COMMENT "Collecting descriptors of ${name}")
  set_source_files_properties(${table} PROPERTIES OBJECT_DEPENDS ${table}.stamp)
  set(${list} ${${list}} ${table} PARENT_SCOPE)
endfunction()

# Lets sources of a target be compiled several at a time, which takes half of the time. Those with rows of a table stay alone: they
# all call their functions `run` or `infer`. In the others, names are unique within the folder.
function(anybit_compile_together target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    set(found "")
    if(EXISTS ${source})
      file(STRINGS ${source} found REGEX "^std::span<const .*_descriptors\\(\\) {" LIMIT_COUNT 1)
    endif()
    if(found OR source MATCHES "/kernels/|/generated/")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(found)  # for tables.ld
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-ffunction-sections>)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ANYBIT_TOGETHER} UNITY_BUILD_BATCH_SIZE 6)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes an included source for a header, in which unnamed namespaces would be wrong; and it inlines less in large units.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param=large-unit-insns=60000)
  endif()
endfunction()

function(anybit_folder name)
  cmake_parse_arguments(ARG "" "NAMESPACE" "DEPENDS;LINKS" ${ARGN})
  if(NOT ARG_NAMESPACE)
    set(ARG_NAMESPACE ${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(target anybit_${name})
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  anybit_table(sources ${folder} ${name}/table.hpp anybit::${ARG_NAMESPACE} Descriptor descriptors table)
  anybit_table(sources ${folder} ${name}/collector_table.hpp anybit::${ARG_NAMESPACE} CollectorDescriptor
    collector_descriptors collector_table)
  add_library(${target} OBJECT ${sources})
  anybit_compile_together(${target})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE ${ANYBIT_WARNINGS})
  if(name IN_LIST ANYBIT_HOT_FOLDERS)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3> ${ANYBIT_HOT_OPTIONS} ${ANYBIT_HOT_ALIGNMENT})
  elseif(name IN_LIST ANYBIT_COLD_FOLDERS)
    # With -O1, g++ 12 wrongly warns that variants on the stack are freed.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> -Wno-free-nonheap-object)
  endif()
  foreach(file IN LISTS ANYBIT_HOT_FILES)
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  endforeach()
  # Precompiled headers: a folder's own, or those of ops or graph for the folders above them.
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${name}/precompiled.hpp)
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/${name}/precompiled.hpp)
  elseif(TARGET anybit_ops)
    target_precompile_headers(${target} REUSE_FROM anybit_ops)
  elseif(TARGET anybit_graph)
    target_precompile_headers(${target} REUSE_FROM anybit_graph)
  endif()
  target_link_libraries(${target} PUBLIC fmt::fmt Threads::Threads ${ARG_LINKS})
  foreach(other IN LISTS ARG_DEPENDS)
    if(TARGET anybit_${other})
      add_dependencies(${target} anybit_${other})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES ANYBIT_DEPENDS "${ARG_DEPENDS}")
  set_property(GLOBAL APPEND PROPERTY ANYBIT_FOLDERS ${name})
  set_property(GLOBAL APPEND PROPERTY ANYBIT_LINKS ${ARG_LINKS})
endfunction()

# The objects of all folders declared so far, to be linked into a library or a test.
function(anybit_objects result)
  get_property(folders GLOBAL PROPERTY ANYBIT_FOLDERS)
  set(objects "")
  foreach(name IN LISTS folders)
    list(APPEND objects $<TARGET_OBJECTS:anybit_${name}>)
  endforeach()
  set(${result} "${objects}" PARENT_SCOPE)
endfunction()

# The link dependencies of those objects.
function(anybit_links result)
  get_property(links GLOBAL PROPERTY ANYBIT_LINKS)
  set(${result} fmt::fmt Threads::Threads ${links} PARENT_SCOPE)
endfunction()
