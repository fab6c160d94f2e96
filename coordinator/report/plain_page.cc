#include "coordinator/report/plain_page.h"

#include "fmt/format.h"

namespace noisefloor::report {

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string PlainPage(std::string_view title, std::string_view about, std::string_view text) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>{}: {}</title>\n"
      "<style>body{{margin:2em;color-scheme:light dark}}pre{{font-size:0.9em}}</style>\n"
      "</head>\n<body>\n<pre>{}</pre>\n</body>\n</html>\n",
      EscapeHtml(title), EscapeHtml(about), EscapeHtml(text));
}

}  // namespace noisefloor::report
