// UTF-8 and code points.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anybit {

// Empty if the text is not well-formed.
std::optional<std::u32string> from_utf8(std::string_view text);
std::optional<std::string> to_utf8(std::u32string_view text);

}  // namespace anybit
