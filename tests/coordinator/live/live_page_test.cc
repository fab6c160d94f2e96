// What a browser is shown, and who may see it, where access is not set up.
#include "coordinator/live/live_page.h"

#include "coordinator/web/page_bundle.h"
#include "tests/coordinator/live/live_fixture.h"

namespace noisefloor::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class LivePageTest : public LiveTest {
 protected:
  Headers Cookie(const std::string& text) { return {{"Cookie", text}}; }
  // Where whoever asks for that is sent; empty: nowhere. As it was sent: httplib decodes it.
  std::string SentFrom(const std::string& target) {
    const RawAnswer answer = GetAt(ToText(page_.address), target, "");
    EXPECT_EQ(answer.status == 303, answer.headers.contains("location")) << target;
    EXPECT_EQ(answer.status == 303, answer.headers.contains("set-cookie")) << target;
    return answer.Header("location");
  }
};

TEST_F(LivePageTest, TheTokenInTheAddressBecomesACookie) {
  const Got got = GetWith("/?token=" + page_.token, {});
  EXPECT_EQ(got.status, 303);
  EXPECT_EQ(got.Header("Location"), "/");
  EXPECT_EQ(got.Header("Set-Cookie"), CookieName() + "=" + page_.token +
                                          "; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000");
  EXPECT_EQ(got.Header("Cache-Control"), "no-store");
  EXPECT_THAT(got.body, Not(HasSubstr(page_.token)));

  const std::string cookie = CookieName() + "=" + page_.token;
  for (const std::string& all : {cookie, "a=b; " + cookie + "; c=d"}) {
    EXPECT_EQ(GetWith("/", Cookie(all)).status, 200) << all;
    EXPECT_EQ(GetWith("/api/GetVersion", Cookie(all)).status, 200) << all;
  }
}

TEST_F(LivePageTest, WhoSignsInComesWhereHeWanted) {
  const std::string token = "token=" + page_.token;
  EXPECT_EQ(SentFrom("/sweeps/3?" + token), "/sweeps/3");
  EXPECT_EQ(SentFrom("/sweeps/3?a=b%20c&" + token + "&d=e+f"), "/sweeps/3?a=b%20c&d=e%20f");
  EXPECT_EQ(SentFrom("/?" + token + "&a=1&a=2&b"), "/?a=1&a=2&b=");
  EXPECT_EQ(SentFrom("/?" + token + "&token=x"), "/") << "no token stays";
  EXPECT_EQ(SentFrom("/a%20b%3Fc/?" + token + "&x%3D=%26"), "/a%20b%3Fc/?x%3D=%26");
  EXPECT_EQ(SentFrom("/?a=%0d%0aX:y&" + token), "/?a=%0D%0AX%3Ay");
}

TEST_F(LivePageTest, NobodyIsSentElsewhere) {
  const std::string token = "?token=" + page_.token;
  for (const char* const target : {"//evil", "/%2Fevil", "/%2F/evil", "/%09/evil", "/%0d%0aX:y"}) {
    const Got got = GetWith(target + token, {});
    EXPECT_EQ(got.status, 400) << target;
    EXPECT_EQ(got.Header("Location"), "") << target;
  }
  EXPECT_EQ(SentFrom("/\\evil" + token), "/%5Cevil");
  EXPECT_EQ(SentFrom("/%5C%5Cevil" + token), "/%5C%5Cevil");
  EXPECT_EQ(SentFrom("/http://evil" + token), "/http%3A//evil");
  EXPECT_EQ(SentFrom("/@evil" + token), "/%40evil");
}

TEST_F(LivePageTest, WithoutATokenThereIsTheSignInPage) {
  for (const char* const target : {"/", "/sweeps/3", "/index.html", "/api"}) {
    const Got got = GetWith(target, {});
    EXPECT_EQ(got.status, 401) << target;
    EXPECT_THAT(got.Header("Content-Type"), StartsWith("text/html"));
    EXPECT_THAT(got.Header("Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("frame-ancestors 'none'")));
    EXPECT_THAT(got.body, AllOf(HasSubstr("name=\"token\""), HasSubstr("needs a token"),
                                HasSubstr("page.token"), Not(HasSubstr(page_.token))));
    EXPECT_EQ(got.Header("Set-Cookie"), "");
  }
}

// Sent to where no token is in the address, and to the form there.
void ExpectRefused(const auto& got) {
  EXPECT_EQ(got.status, 303);
  EXPECT_EQ(got.Header("Location"), "/");
  EXPECT_THAT(got.Header("Set-Cookie"), HasSubstr("=refused; Path=/; HttpOnly; SameSite=Lax"));
}

TEST_F(LivePageTest, AWrongTokenOpensNothing) {
  const std::string right = CookieName() + "=" + page_.token;
  std::string wrong = page_.token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  ExpectRefused(GetWith("/?token=" + wrong, {}));
  ExpectRefused(GetWith("/?token=", {}));
  ExpectRefused(GetWith("/?token=" + page_.token + "0", {}));
  ExpectRefused(GetWith("/?token=" + page_.token.substr(0, 63), {}));
  EXPECT_EQ(GetWith("/", Cookie(CookieName() + "=" + wrong)).status, 401);
  EXPECT_EQ(GetWith("/", Bearer(wrong)).status, 401);
  EXPECT_EQ(GetWith("/", {{"Authorization", "Basic " + page_.token}}).status, 401);
  const Got signed_in = GetWith("/?token=" + wrong, Cookie(right));
  EXPECT_EQ(signed_in.status, 303);
  EXPECT_EQ(signed_in.Header("Set-Cookie"), "") << "no link signs anybody out";

  ExpectRefused(GetWith("/?token=%3Cscript%3Ealert(1)%3C/script%3E", {}));
  const Got got = GetWith("/s1?a=%22%3E%3Cscript%3E", Cookie(CookieName() + "=refused"));
  EXPECT_EQ(got.status, 401);
  EXPECT_THAT(got.body, AllOf(HasSubstr("opens nothing"), Not(HasSubstr("\"><script>")),
                              HasSubstr("name=\"a\" value=\"&quot;>&lt;script>\"")));
  EXPECT_EQ(got.Header("Set-Cookie"), "");
}

TEST_F(LivePageTest, SpacesRoundAToken) {
  const Got got = GetWith("/?token=%20" + page_.token + "%0A", {});
  EXPECT_EQ(got.status, 303);
  EXPECT_THAT(got.Header("Set-Cookie"), HasSubstr("=" + page_.token + ";"));
}

TEST_F(LivePageTest, ACookieIsOfItsPort) {
  const std::string token = "=" + page_.token;
  EXPECT_EQ(GetWith("/", Cookie(CookieName() + token)).status, 200);
  EXPECT_EQ(GetWith("/", Cookie("noisefloor-1" + token)).status, 401);
  EXPECT_EQ(GetWith("/", Cookie("noisefloor" + token)).status, 401);
  EXPECT_EQ(GetWith("/", Cookie("x" + CookieName() + token)).status, 401);
  EXPECT_EQ(GetWith("/", Cookie(CookieName() + "1" + token)).status, 401);
  EXPECT_EQ(GetWith("/", Cookie("token" + token)).status, 401);
  // Through a tunnel that has another.
  EXPECT_EQ(GetAt("localhost:9", "/", "Cookie: noisefloor-9" + token + "\r\n").status, 200);
  EXPECT_THAT(GetAt("localhost:9", "/?token" + token, "").Header("set-cookie"),
              StartsWith("noisefloor-9" + token + ";"));
  EXPECT_EQ(GetAt("localhost", "/", "Cookie: noisefloor-80" + token + "\r\n").status, 200);
}

TEST_F(LivePageTest, WhoHasTheTokenIsShownTheApp) {
  for (const char* const target : {"/", "/sweeps/3", "/members/s1c0r0?tab=log", "/api"}) {
    const Got got = Get(target);
    EXPECT_EQ(got.status, 200) << target;
    EXPECT_THAT(got.Header("Content-Type"), StartsWith("text/html"));
    EXPECT_THAT(got.Header("Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';"),
                      HasSubstr("frame-ancestors 'none'"), HasSubstr("base-uri 'none'")));
    EXPECT_THAT(got.body, AllOf(HasSubstr("src=\"/app.js\""), HasSubstr("href=\"/app.css\""),
                                Not(HasSubstr(page_.token))));
  }
}

TEST_F(LivePageTest, ScriptAndStyleAreNoSecret) {
  const Got script = GetWith("/app.js", {});
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(script.Header("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.Header("X-Content-Type-Options"), "nosniff");
  EXPECT_TRUE(script.body == web::LiveScript());
  const Got style = GetWith("/app.css", {});
  EXPECT_EQ(style.status, 200);
  EXPECT_EQ(style.Header("Content-Type"), "text/css; charset=utf-8");
  EXPECT_TRUE(style.body == web::LiveStyle());
}

TEST_F(LivePageTest, NamesOfThisMachineAloneAreAnswered) {
  const std::string bearer = "Authorization: Bearer " + page_.token + "\r\n";
  for (const char* const host : {"localhost", "localhost:1", "localhost:65535", "127.0.0.1",
                                 "127.0.0.1:7078", "127.1.2.3:80", "[::1]", "[::1]:1"}) {
    EXPECT_EQ(GetAt(host, "/", bearer).status, 200) << host;
    EXPECT_EQ(GetAt(host, "/api/GetVersion", bearer).status, 200) << host;
    EXPECT_EQ(GetAt(host, "/app.js", "").status, 200) << host;
  }
  for (const char* const host :
       {"evil.example", "evil.example:7078", "localhost.evil.example", "127.0.0.1.evil.example",
        "127.evil.example:80", "evil.example:localhost", "localhost@evil.example", "0.0.0.0",
        "0.0.0.0:7078", "192.168.0.1", "[::2]:1", "localhost:x", ""}) {
    for (const char* const target : {"/", "/api/GetVersion", "/app.js", "/app.css"}) {
      EXPECT_EQ(GetAt(host, target, bearer).status, 403) << host << target;
    }
    const RawAnswer answer = GetAt(host, "/?token=" + page_.token, "");
    EXPECT_EQ(answer.status, 403) << host;
    EXPECT_EQ(answer.Header("set-cookie"), "") << host;
  }
}

TEST_F(LivePageTest, TheApiSaysInJsonThatItNeedsAToken) {
  for (const char* const target :
       {"/api/GetVersion", "/api/SubmitSweep", "/api/nothing", "/api/"}) {
    const Got got = GetWith(target, {});
    EXPECT_EQ(got.status, 401) << target;
    EXPECT_EQ(got.Header("Content-Type"), "application/json; charset=utf-8");
    EXPECT_EQ(ErrorCode(got.body), "UNAUTHENTICATED") << got.body;
  }
  const std::string token = "?token=" + page_.token;
  EXPECT_EQ(GetWith("/api/GetVersion" + token, {}).status, 401) << "no link is an open door";
  EXPECT_EQ(Get("/api/GetVersion" + token).status, 400) << "it is no field";
}

TEST_F(LivePageTest, NobodyPosts) {
  httplib::Client client(page_.address.host, page_.address.port);
  EXPECT_EQ(client.Post("/api/CancelSweep", Bearer(page_.token), "{}", "text/plain")->status, 405);
  EXPECT_EQ(client.Post("/", Bearer(page_.token), "token=x", "text/plain")->status, 405);
}

TEST_F(LivePageTest, HeadIsAnsweredToo) {
  httplib::Client client(page_.address.host, page_.address.port);
  for (const char* const target : {"/", "/app.js", "/api/GetVersion"}) {
    const auto head = client.Head(target, Bearer(page_.token));
    ASSERT_TRUE(head) << target;
    EXPECT_EQ(head->status, 200) << target;
    EXPECT_EQ(head->body, "") << target;
  }
  EXPECT_EQ(client.Head("/")->status, 401);
}

}  // namespace
}  // namespace noisefloor::test
