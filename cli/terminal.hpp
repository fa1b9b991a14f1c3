// Colours, and the width of text on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace anybit::cli {

// True if standard output is a terminal and neither NO_COLOR nor TERM=dumb is set.
bool colours();

enum class Style { plain, bold, dim, yellow, red };
// `text` in that style, if colours are on.
std::string styled(std::string_view text, Style style);

// `text` in one of the 256 colours of a terminal, if colours are on; 0: as it is.
std::string colored(std::string_view text, int color);

// The columns of UTF-8 text on a terminal: two for East Asian wide characters, none for combining marks.
std::size_t columns(std::string_view text);
// Escapes control characters as "\xNN", because strings of a model are not trusted.
std::string printable(std::string_view text);
// At most `width` columns, with "…" if the text is cut.
std::string shortened(std::string_view text, std::size_t width);
// The name of a node or value in a table: cut on a terminal, and whole in a pipe or file, where it may be
// copied.
std::string shortened_name(std::string_view name);

}  // namespace anybit::cli
