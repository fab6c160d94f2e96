#include "coordinator/web/page_bundle.h"

// The paths of the files are given by CMake.
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
NF_EMBED("kNoisefloorLiveScript", NF_LIVE_SCRIPT);
NF_EMBED("kNoisefloorLiveStyle", NF_LIVE_STYLE);

extern "C" {
extern const char kNoisefloorPageScript[];
extern const char kNoisefloorPageScriptEnd[];
extern const char kNoisefloorPageStyle[];
extern const char kNoisefloorPageStyleEnd[];
extern const char kNoisefloorLiveScript[];
extern const char kNoisefloorLiveScriptEnd[];
extern const char kNoisefloorLiveStyle[];
extern const char kNoisefloorLiveStyleEnd[];
}

namespace noisefloor::web {

std::string_view PageScript() { return {kNoisefloorPageScript, kNoisefloorPageScriptEnd}; }

std::string_view PageStyle() { return {kNoisefloorPageStyle, kNoisefloorPageStyleEnd}; }

std::string_view LiveScript() { return {kNoisefloorLiveScript, kNoisefloorLiveScriptEnd}; }

std::string_view LiveStyle() { return {kNoisefloorLiveStyle, kNoisefloorLiveStyleEnd}; }

}  // namespace noisefloor::web
