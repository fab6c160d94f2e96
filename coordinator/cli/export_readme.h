// What `export` says about the folder that it writes.
#pragma once

#include <string_view>

namespace noisefloor::cli {

// Markdown; the same for every sweep, so that two exports of one sweep are equal byte by byte.
std::string_view ExportReadme();

}  // namespace noisefloor::cli
