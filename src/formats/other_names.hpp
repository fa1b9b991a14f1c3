// Names that other tools have for formats, and what to say to whoever writes them.
#pragma once

#include <string>
#include <string_view>

namespace anybit::formats {

// "did you mean 'float16'?" for fp16 and half; empty for a word that nobody calls a format by. Capitals do
// not matter.
std::string hint_for_other_name(std::string_view word);

}  // namespace anybit::formats
