// What the terminal can do: colours, width of text.
#pragma once

#include <string>
#include <string_view>

namespace anybit::cli {

// Standard output is a terminal, and neither NO_COLOR nor TERM=dumb asks for plain text.
bool colours();

enum class Style { plain, bold, dim, yellow, red };
// `text` in that style, if colours are on.
std::string styled(std::string_view text, Style style);

// Columns that UTF-8 text takes on a terminal: two for East Asian wide characters, none for combining marks.
std::size_t columns(std::string_view text);
// Characters that would move the cursor or change colours become "\xNN": a model's strings are not to be
// trusted.
std::string printable(std::string_view text);
// At most `width` columns, with "…" if something was cut.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace anybit::cli
