# re2::re2; Debian's package has no CMake files.
find_library(ANYBIT_RE2 re2 REQUIRED)
find_path(ANYBIT_RE2_HEADERS re2/re2.h REQUIRED)
add_library(re2::re2 UNKNOWN IMPORTED)
set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION ${ANYBIT_RE2}
                                          INTERFACE_INCLUDE_DIRECTORIES ${ANYBIT_RE2_HEADERS})
