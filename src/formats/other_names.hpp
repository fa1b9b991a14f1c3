// Other tools' names for formats, and hints for callers who use them.
#pragma once

#include <string>
#include <string_view>

namespace anybit::formats {

// "did you mean 'float16'?" for fp16 and half; empty for an unknown name. Case-insensitive.
std::string hint_for_other_name(std::string_view word);

}  // namespace anybit::formats
