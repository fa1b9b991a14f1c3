# Writes the table of a folder: one row for every file that exports descriptors. Run at build time, with the FOLDER, its
# HEADER, the NAMESPACE and the OUTPUT.
file(GLOB_RECURSE sources ${FOLDER}/*.cpp)
list(SORT sources)
set(declarations "")
set(rows "")
foreach(source IN LISTS sources)
  get_filename_component(stem ${source} NAME_WE)
  file(STRINGS ${source} found REGEX "^std::span<const Descriptor> ${stem}_descriptors\\(\\)" LIMIT_COUNT 1)
  if(found)
    string(APPEND declarations "std::span<const Descriptor> ${stem}_descriptors();\n")
    string(APPEND rows "      ${stem}_descriptors(),\n")
  endif()
endforeach()
set(text "// Made by cmake/make_table.cmake from the files of a folder.
#include \"${HEADER}\"

#include <algorithm>
#include <vector>

namespace ${NAMESPACE} {
${declarations}
std::span<const Descriptor* const> table() {
  static const std::vector<const Descriptor*> all = [] {
    std::vector<const Descriptor*> list;
    for (std::span<const Descriptor> part : std::initializer_list<std::span<const Descriptor>>{
${rows}         }) {
      for (const Descriptor& one : part) list.push_back(&one);
    }
    std::sort(list.begin(), list.end(), [](const Descriptor* a, const Descriptor* b) { return before(*a, *b); });
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
