#include "coordinator/web/page_bundle.h"

// NF_PAGE_SCRIPT and NF_PAGE_STYLE are the files' paths, given by CMake.
#define NF_EMBED(name, path)     \
  asm(".pushsection .rodata\n"   \
      ".global noisefloor_" name \
      "\n"                       \
      "noisefloor_" name         \
      ":\n"                      \
      ".incbin \"" path          \
      "\"\n"                     \
      ".global noisefloor_" name \
      "_end\n"                   \
      "noisefloor_" name         \
      "_end:\n"                  \
      ".byte 0\n"                \
      ".popsection\n")

NF_EMBED("page_script", NF_PAGE_SCRIPT);
NF_EMBED("page_style", NF_PAGE_STYLE);

extern "C" {
extern const char noisefloor_page_script[];
extern const char noisefloor_page_script_end[];
extern const char noisefloor_page_style[];
extern const char noisefloor_page_style_end[];
}

namespace noisefloor::web {

std::string_view PageScript() { return {noisefloor_page_script, noisefloor_page_script_end}; }

std::string_view PageStyle() { return {noisefloor_page_style, noisefloor_page_style_end}; }

}  // namespace noisefloor::web
