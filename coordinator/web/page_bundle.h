// The report page's script and style, bundled by esbuild and embedded in the binary.
#pragma once

#include <string_view>

namespace noisefloor::web {

// Empty when the build was configured without the page. Live for ever.
std::string_view PageScript();
std::string_view PageStyle();

}  // namespace noisefloor::web
