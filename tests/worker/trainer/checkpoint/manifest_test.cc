// The manifest as text: what is refused, and in which words.
#include "worker/trainer/checkpoint/manifest.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"

namespace noisefloor::trainer {
namespace {

using ::testing::HasSubstr;

const CheckpointIdentity kMember = {{"member", "s1c2r3"}};

Manifest Whole() {
  return {.identity = kMember,
          .step = 7,
          .facts = {{"a", 0.1}},
          .files = {{"x", {std::string(64, 'a'), 3}}},
          .kept = {{"predictions-1.npy", std::string(64, 'b'), 5}}};
}

// The text of a manifest that somebody changed and signed anew.
std::string Changed(const std::function<void(Json&)>& change) {
  Json inner = Json::parse(ManifestToJson(Whole()))["manifest"];
  change(inner);
  return Json{{"manifest", inner}, {"sha256", Sha256Hex(inner.dump())}}.dump();
}

TEST(ManifestTest, IsReadAsItWasWritten) {
  const auto read = ManifestFromJson(ManifestToJson(Whole()), kMember);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->identity, kMember);
  EXPECT_EQ(read->step, 7);
  EXPECT_EQ(read->facts, Whole().facts);
  EXPECT_EQ(read->files.at("x").size_bytes, 3u);
  EXPECT_EQ(read->kept, Whole().kept);
}

TEST(ManifestTest, HostileOnesAreRefusedInWords) {
  const struct {
    std::string text;
    const char* words;
  } cases[] = {
      {"", "JSON"},
      {"{}", "sha256"},
      {"[]", "expected"},
      {R"({"manifest":7,"sha256":"x"})", "it is not what was written"},
      {ManifestToJson(Whole()) + "x", "JSON"},
      {Changed([](Json& j) { j = 7; }), "its format is 0"},
      {Changed([](Json& j) { j["format"] = 9; }), "its format is 9, of a newer program"},
      {Changed([](Json& j) { j["format"] = "2"; }), "its format is 0"},
      {Changed([](Json& j) { j.erase("format"); }), "its format is 0"},
      {Changed([](Json& j) { j["more"] = 1; }), "more"},
      {Changed([](Json& j) { j.erase("facts"); }), "facts"},
      {Changed([](Json& j) { j["step"] = -1; }), "step"},
      {Changed([](Json& j) { j["step"] = 0.5; }), "step"},
      {Changed([](Json& j) { j["identity"] = 1; }), "identity: expected an object"},
      {Changed([](Json& j) { j["identity"]["member"] = 1; }), "identity.member: expected a text"},
      {Changed([](Json& j) { j["identity"]["member"] = "s1c2r4"; }),
       "it is of another member: 's1c2r4', not 's1c2r3'"},
      {Changed([](Json& j) { j["identity"].erase("member"); }), "identity.member: missing"},
      {Changed([](Json& j) { j["identity"]["x"] = "y"; }), "it has more than this program knows"},
      {Changed([](Json& j) { j["files"] = 1; }), "files: expected an object"},
      {Changed([](Json& j) { j["files"]["x"]["size"] = -1; }), "files.x.size"},
      {Changed([](Json& j) { j["files"]["x"]["sha256"] = "abc"; }), "64 hexadecimal digits"},
      {Changed([](Json& j) { j["kept"] = 1; }), "kept: expected a list"},
      {Changed([](Json& j) { j["kept"][0]["name"] = "../x"; }), "a name without a folder"},
      {Changed([](Json& j) { j["kept"][0]["name"] = "/etc/x"; }), "a name without a folder"},
      {Changed([](Json& j) { j["kept"][0]["name"] = ".x"; }), "a name without a folder"},
      {Changed([](Json& j) { j["kept"][0]["name"] = ""; }), "a name without a folder"},
      {Changed([](Json& j) { j["kept"][0]["sha256"] = "../../x"; }), "64 hexadecimal digits"},
      {Changed([](Json& j) { j["kept"][0] = 1; }), "kept"},
  };
  for (const auto& [text, words] : cases) {
    const auto read = ManifestFromJson(text, kMember);
    EXPECT_FALSE(read.ok()) << text;
    EXPECT_THAT(Message(read.status()), HasSubstr(words)) << text;
  }
}

}  // namespace
}  // namespace noisefloor::trainer
