# Generates a folder's table: one row for every file that exports descriptors. Runs at build time, with the FOLDER, the
# table's HEADER, the NAMESPACE, the OUTPUT, the row type ROW (Descriptor), the SUFFIX (descriptors) and the FUNCTION that
# returns all rows (table).
file(GLOB_RECURSE sources ${FOLDER}/*.cpp)
list(SORT sources)
set(declarations "")
set(rows "")
foreach(source IN LISTS sources)
  get_filename_component(stem ${source} NAME_WE)
  file(STRINGS ${source} found REGEX "^std::span<const ${ROW}> ${stem}_${SUFFIX}\\(\\)" LIMIT_COUNT 1)
  if(found)
    string(APPEND declarations "std::span<const ${ROW}> ${stem}_${SUFFIX}();\n")
    string(APPEND rows "      ${stem}_${SUFFIX}(),\n")
  endif()
endforeach()
set(text "// Made by cmake/make_table.cmake from the files of a folder.
#include \"${HEADER}\"

#include <algorithm>
#include <vector>

namespace ${NAMESPACE} {
${declarations}
std::span<const ${ROW}* const> ${FUNCTION}() {
  static const std::vector<const ${ROW}*> all = [] {
    std::vector<const ${ROW}*> list;
    for (std::span<const ${ROW}> part : std::initializer_list<std::span<const ${ROW}>>{
${rows}         }) {
      for (const ${ROW}& one : part) list.push_back(&one);
    }
    std::sort(list.begin(), list.end(), [](const ${ROW}* a, const ${ROW}* b) { return before(*a, *b); });
    return list;
  }();
  return all;
}

}  // namespace ${NAMESPACE}
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
