// The report as one HTML file that can be sent: study, script and style inside, no request leaves
// it (a content security policy forbids them).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace noisefloor::report {

// `study_json` lies in <script type="application/json" id="study">; the script draws into
// <div id="app">. Where no script runs, title and findings are there. Nothing in the texts can end
// its element early.
std::string RenderPage(std::string_view title, std::span<const std::string> findings,
                       std::string_view study_json, std::string_view bundle_js,
                       std::string_view bundle_css);

}  // namespace noisefloor::report
