#include "coordinator/manifest/yaml.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

TEST(YamlTest, BlocksStandInTheOrderOfTheirFields) {
  const Json value = {
      {"kind", "Job"},
      {"spec", {{"count", 3}, {"on", true}, {"labels", Json::object()}}},
      {"items",
       Json::array({Json{{"name", "a"}, {"words", Json::array({"x", "y"})}}, Json{{"name", "b"}}})},
      {"numbers", Json::array({1, 2})}};

  EXPECT_EQ(ToYaml(value),
            "kind: Job\n"
            "spec:\n"
            "  count: 3\n"
            "  \"on\": true\n"
            "  labels: {}\n"
            "items:\n"
            "  - name: a\n"
            "    words:\n"
            "      - x\n"
            "      - \"y\"\n"
            "  - name: b\n"
            "numbers:\n"
            "  - 1\n"
            "  - 2\n");
}

TEST(YamlTest, WhatCouldBeTakenForAnythingElseStandsInQuotes) {
  for (const char* text :
       {"",    "true",       "No",    "null", "~",  "12",  "1e3",  "0x1f", "1:30", "-",
        "- a", "a: b",       "a #b",  "*a",   "&a", "!a",  "a\"b", "a\\b", "%a",   "@a",
        "`a",  "2026-11-24", " a",    "a ",   "{a", "[a",  "?a",   "|",    ">",    "'a'",
        ".5",  "=",          "false", "YES",  "on", "Off", "off",  "y",    "n"}) {
    EXPECT_EQ(ToYaml(Json{{"key", text}}), "key: " + Json(text).dump() + "\n");
  }
  for (const char* text : {"batch/v1", "noisefloor-worker", "NVIDIA-A100-SXM4-40GB", "a.b_c"}) {
    EXPECT_EQ(ToYaml(Json{{"key", text}}), std::string("key: ") + text + "\n");
  }
}

}  // namespace
}  // namespace noisefloor
