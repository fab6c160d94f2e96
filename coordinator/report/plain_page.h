// Text as one HTML file without a script. Pure.
#pragma once

#include <string>
#include <string_view>

namespace noisefloor::report {

// What stands between tags, where neither & nor < may be themselves.
std::string EscapeHtml(std::string_view text);

// `about`: behind the title of the window, "what determinism costs". `text`: as a terminal shows
// it.
std::string PlainPage(std::string_view title, std::string_view about, std::string_view text);

}  // namespace noisefloor::report
