#include "coordinator/report/page.h"

#include <algorithm>
#include <cctype>

#include "fmt/format.h"

#include "common/base/philox.h"
#include "coordinator/report/plain_page.h"

namespace noisefloor::report {
namespace {

bool StartsWithIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char want, char have) {
           return want == std::tolower(static_cast<unsigned char>(have));
         });
}

// In JSON "<" occurs in strings only, where \u003c is the same.
std::string EscapedJson(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

// Replaces the "<" of the given beginnings, which occur only inside strings and expressions.
std::string Escaped(std::string_view text, std::initializer_list<std::string_view> beginnings,
                    std::string_view replacement) {
  std::string escaped;
  escaped.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const bool ends = std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) {
      return StartsWithIgnoringCase(text.substr(at), b);
    });
    ends ? escaped += replacement : escaped += text[at];
  }
  return escaped;
}

std::string WithoutScript(std::string_view title, std::span<const std::string> findings) {
  std::string text =
      fmt::format("<noscript><main><h1>{}</h1>\n<ol class=\"headlines\">\n", EscapeHtml(title));
  for (const std::string& finding : findings) {
    text += fmt::format("<li>{}</li>\n", EscapeHtml(finding));
  }
  return text +
         "</ol>\n<p>Figures and tables are drawn by the script inside this file, which does not "
         "run here.</p></main></noscript>\n";
}

}  // namespace

std::string RenderPage(std::string_view title, std::span<const std::string> findings,
                       std::string_view study_json, std::string_view bundle_js,
                       std::string_view bundle_css) {
  // Only our script carries the nonce. It depends on the content, so equal studies are equal files.
  const std::string nonce =
      fmt::format("{:016x}{:016x}", StreamOf(bundle_js), StreamOf(study_json));
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'nonce-{}'; style-src 'unsafe-inline'; img-src data: blob:; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>{}: noise study</title>\n<style>",
      nonce, EscapeHtml(title));
  page += Escaped(bundle_css, {"</style"}, "\\3c ");
  page += "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n" + WithoutScript(title, findings) +
          "<script type=\"application/json\" id=\"study\">";
  page += EscapedJson(study_json);
  page += fmt::format("</script>\n<script nonce=\"{}\">", nonce);
  page += Escaped(bundle_js, {"</script", "<!--"}, "\\x3c");
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace noisefloor::report
