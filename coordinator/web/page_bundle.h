// Scripts and styles of the report page and of the live one, bundled by esbuild and embedded in the
// binary.
#pragma once

#include <string_view>

namespace noisefloor::web {

// Empty when the build was configured without the page. Live for ever.
std::string_view PageScript();
std::string_view PageStyle();
std::string_view LiveScript();
std::string_view LiveStyle();

}  // namespace noisefloor::web
