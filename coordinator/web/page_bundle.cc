#include "coordinator/web/page_bundle.h"

// NF_PAGE_SCRIPT and NF_PAGE_STYLE are the files' paths, given by CMake.
#define NF_EMBED(name, path)       \
  asm(".pushsection .rodata\n"     \
      ".global " name "\n" name    \
      ":\n"                        \
      ".incbin \"" path            \
      "\"\n"                       \
      ".global " name "End\n" name \
      "End:\n"                     \
      ".byte 0\n"                  \
      ".popsection\n")

NF_EMBED("kNoisefloorPageScript", NF_PAGE_SCRIPT);
NF_EMBED("kNoisefloorPageStyle", NF_PAGE_STYLE);

extern "C" {
extern const char kNoisefloorPageScript[];
extern const char kNoisefloorPageScriptEnd[];
extern const char kNoisefloorPageStyle[];
extern const char kNoisefloorPageStyleEnd[];
}

namespace noisefloor::web {

std::string_view PageScript() { return {kNoisefloorPageScript, kNoisefloorPageScriptEnd}; }

std::string_view PageStyle() { return {kNoisefloorPageStyle, kNoisefloorPageStyleEnd}; }

}  // namespace noisefloor::web
