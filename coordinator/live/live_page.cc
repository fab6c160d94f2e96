#include "coordinator/live/live_page.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/private_file.h"
#include "common/rpc/address.h"
#include "coordinator/http/target.h"
#include "coordinator/web/page_bundle.h"

namespace noisefloor::live {

namespace {

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr std::string_view kApi = "/api/";
constexpr std::string_view kTokenField = "token";
constexpr size_t kTokenDigits = 64;
constexpr uint16_t kHttpPort = 80;

// Observable Plot gives its drawings styles of their own.
constexpr char kAppPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: "
    "blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";
constexpr char kApp[] = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>noisefloor</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/app.css">
<script defer src="/app.js"></script>
</head>
<body>
<div id="app"></div>
<noscript><main><h1>noisefloor</h1>
<p>This page is drawn by a script, which does not run here. <code>noisefloor status</code>,
<code>watch</code> and <code>report</code> tell the same.</p></main></noscript>
</body>
</html>
)";

constexpr char kSignIn[] = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in: noisefloor</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/app.css">
</head>
<body>
<main>
<h1>noisefloor</h1>
<p role="status">{}</p>
<form method="get">{}
<label>Token
<input type="password" name="token" required autofocus autocomplete="off" spellcheck="false">
</label>
<button>Sign in</button>
</form>
<p>{}</p>
</main>
</body>
</html>
)";

// "127.0.0.1:7078" -> "127.0.0.1" and 7078.
Address HostOf(std::string_view header) {
  const absl::StatusOr<Address> address = ParseAddress(header);
  if (address.ok()) return *address;
  if (header.starts_with('[') && header.ends_with(']'))
    header = header.substr(1, header.size() - 2);
  return {std::string(header), kHttpPort};
}

// A cookie is one of the host, whichever port has set it.
std::string CookieName(const http::Request& request) {
  return fmt::format("noisefloor-{}", HostOf(request.Header("host")).port);
}

std::string TokenOf(const http::Request& request) {
  if (const std::string_view said = request.BearerToken(); !said.empty()) return std::string(said);
  const std::string name = CookieName(request) + "=";
  const std::string cookies(request.Header("cookie"));
  for (const std::string& one : std::vector<std::string>(absl::StrSplit(cookies, "; "))) {
    if (one.starts_with(name)) return one.substr(name.size());
  }
  return "";
}

std::optional<std::string> TokenAsked(const http::Request& request) {
  const auto found =
      std::ranges::find(request.query, kTokenField, [](const auto& field) { return field.first; });
  if (found == request.query.end()) return std::nullopt;
  return found->second;
}

// The same without the token, as a browser is sent there.
std::string TargetWithoutToken(const http::Request& request) {
  const std::vector<std::string> parts = absl::StrSplit(request.path, '/');
  std::string target = absl::StrJoin(parts, "/", [](std::string* out, const std::string& part) {
    *out += http::PercentEncoded(part);
  });
  char before = '?';
  for (const auto& [name, value] : request.query) {
    if (name == kTokenField) continue;
    target += fmt::format("{}{}={}", std::exchange(before, '&'), http::PercentEncoded(name),
                          http::PercentEncoded(value));
  }
  return target;
}

http::Answer Html(int status, std::string body) {
  return {.status = status,
          .type = kHtml,
          .headers = {{"Content-Security-Policy", kAppPolicy}},
          .body = std::move(body)};
}

std::string EscapedHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

// What was asked for beside the token is asked for again.
std::string HiddenFields(const http::Request& request) {
  std::string fields;
  for (const auto& [name, value] : request.query) {
    if (name == kTokenField) continue;
    fields += fmt::format("\n<input type=\"hidden\" name=\"{}\" value=\"{}\">", EscapedHtml(name),
                          EscapedHtml(value));
  }
  return fields;
}

http::Answer SignIn(const http::Request& request, const absl::Status& refused, bool asked,
                    bool identities) {
  // What is said of a token would name an identity to a stranger.
  const std::string_view why = !asked ? "This page needs a token."
                                      : "That token opens nothing here, or its role may not read.";
  const std::string_view help =
      identities
          ? "It is the token of an access file, of any role that reads; <code>noisefloor "
            "access</code> "
            "makes one."
          : "It is in the address that <code>noisefloor serve</code> or <code>run --page</code> "
            "printed, and in <code>page.token</code> of the data directory.";
  return Html(absl::IsPermissionDenied(refused) ? 403 : 401,
              fmt::format(kSignIn, why, HiddenFields(request), help));
}

// A token that opens nothing does not stay in the address either; that there was one is remembered
// until the next try.
http::Answer Refused(const http::Request& request, bool signed_in) {
  http::Answer answer{.status = 303};
  if (signed_in) {  // No link of a stranger signs anybody out.
    answer.headers = {{"Location", TargetWithoutToken(request)}};
    return answer;
  }
  answer.headers = {
      {"Location", TargetWithoutToken(request)},
      {"Set-Cookie", fmt::format("{}=refused; Path=/; HttpOnly; SameSite=Lax; "
                                 "Max-Age=60{}",
                                 CookieName(request), request.tls ? "; Secure" : "")}};
  return answer;
}

http::Answer SignedIn(const http::Request& request, const std::string& token) {
  http::Answer answer{.status = 303};
  answer.headers = {
      {"Location", TargetWithoutToken(request)},
      // Lax: links from elsewhere open the view they name; nothing else of another site is signed
      // in.
      {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000{}",
                                 CookieName(request), token, request.tls ? "; Secure" : "")}};
  return answer;
}

}  // namespace

LivePage::LivePage(Parts parts) : parts_(std::move(parts)), gateway_(parts_.channel) {}

void LivePage::Ask(const http::Request& request, std::function<void(http::Answer)> then) const {
  if (!request.tls && !IsLoopback(HostOf(request.Header("host")))) {
    return then({.status = 403, .body = "this page is answered at 127.0.0.1 and localhost only\n"});
  }
  if (request.path == "/app.js") {
    return then({.type = "text/javascript; charset=utf-8", .body = std::string(web::LiveScript())});
  }
  if (request.path == "/app.css") {
    return then({.type = "text/css; charset=utf-8", .body = std::string(web::LiveStyle())});
  }
  const bool api = request.path.starts_with(kApi);
  std::optional<std::string> asked = api ? std::nullopt : TokenAsked(request);
  if (asked) asked = std::string(absl::StripAsciiWhitespace(*asked));
  const std::string token = asked ? *asked : TokenOf(request);
  const absl::Status allowed = parts_.may_read(token);
  if (!allowed.ok() && asked) {
    return then(Refused(request, parts_.may_read(TokenOf(request)).ok()));
  }
  if (!allowed.ok()) {
    return then(api ? ErrorAnswer(allowed)
                    : SignIn(request, allowed, !token.empty(), parts_.identities));
  }
  if (asked) return then(SignedIn(request, *asked));
  if (!api) return then(Html(200, kApp));
  const auto* const method = ReadingMethod(std::string_view(request.path).substr(kApi.size()));
  if (method == nullptr) {
    return then(ErrorAnswer(MakeError(absl::StatusCode::kNotFound,
                                      request.path + ": no method of that name only reads")));
  }
  gateway_.Ask(*method, request, parts_.identities ? token : "", then);
}

absl::StatusOr<std::string> PageToken(const std::string& home, const std::string& chance) {
  const std::string path = home + "/page.token";
  const absl::StatusOr<std::string> kept = ReadFile(path, kTokenDigits + 1);
  if (kept.ok()) {
    const std::string token(absl::StripAsciiWhitespace(*kept));
    if (token.size() == kTokenDigits && std::ranges::all_of(token, absl::ascii_isxdigit)) {
      return token;
    }
  }
  NF_RETURN_IF_ERROR(WritePrivateFile(path, chance + "\n"));
  return chance;
}

}  // namespace noisefloor::live
