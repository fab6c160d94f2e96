// Every way a request can be wrong, with the exact answer.
#include <functional>

#include "gtest/gtest.h"

#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {
namespace {

// The refusal of a good request after `change`.
std::string RefusalAfter(const std::function<void(Json&)>& change) {
  Json request = Json::parse(RequestToJson({"s1c0r0", 1, {}, "/data", "/work", false}));
  change(request);
  return Message(RequestFromJson(request.dump()).status());
}

TEST(BrokenRequestTest, TheUnchangedRequestIsAccepted) {
  EXPECT_EQ(RefusalAfter([](Json&) {}), "");
}

TEST(BrokenRequestTest, TheEnvelopeIsChecked) {
  EXPECT_EQ(RefusalAfter([](Json& r) { r["protocol"] = 2; }), "protocol: expected version 1");
  EXPECT_EQ(RefusalAfter([](Json& r) { r.erase("member"); }), "member: missing");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["member"] = 7; }),
            "member: expected a text of at most 200 bytes");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["attempt"] = 0; }),
            "attempt: expected an integer from 1 to 4294967295");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["data_root"] = std::string(5000, 'x'); }),
            "data_root: expected a text of at most 4096 bytes");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["write_evaluation_set"] = "no"; }),
            "write_evaluation_set: expected true or false");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["command"] = "rm"; }), "command: unknown key");
  EXPECT_EQ(RefusalAfter([](Json& r) { r.erase("specification"); }), "specification: missing");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"] = 1; }),
            "specification: expected a JSON object");
  EXPECT_EQ(Message(RequestFromJson("[]").status()), "the text: expected a JSON object");
}

TEST(BrokenRequestTest, EverySettingMustBeThereAndRight) {
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["train"].erase("epochs"); }),
            "train.epochs: missing");
  // What 0.2 had not may be left out: it is then as 0.2 had it.
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["train"].erase("average_decay"); }), "");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["train"]["epochs"] = "two"; }),
            "train.epochs: expected an integer from 0 to 100000, got two");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["train"]["colour"] = 1; }),
            "train.colour: unknown key");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["train"]["epochs"] = nullptr; }),
            "train.epochs: expected a value or a list of integers");
  EXPECT_EQ(RefusalAfter([](Json& r) {
              r["specification"]["train"]["schedule"]["milestones"] = {1, "b"};
            }),
            "train.schedule.milestones: expected a list of integers");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["train"]["shards"] = 3; }),
            "train.batch_size: 128 is not divisible by train.shards 3; the nearest that are: 126 "
            "or 129");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"].erase("stack"); }),
            "stack: expected a text");
}

TEST(BrokenRequestTest, SettingsMustFitTogether) {
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["model"]["dropout"] = 0.5; }),
            "model.dropout: small_cnn has no dropout; expected 0, the default");
  EXPECT_EQ(RefusalAfter([](Json& r) {
              r["specification"]["noise"]["poke"]["state"] = "fixed";
              r["specification"]["sources"]["poke"]["step"] = 94;
            }),
            "sources.poke.step: 94 asked, the training has 94 steps, counted from 0: the poke "
            "would never happen");
  EXPECT_EQ(RefusalAfter([](Json& r) {
              r["specification"]["train"]["epochs"] = 1000;
              r["specification"]["evaluate"]["predictions"] = "all";
            }),
            "evaluate.every_epochs: 1000 evaluations asked; expected at most 995 with "
            "evaluate.predictions: all; set it to 2 or more");
}

TEST(BrokenRequestTest, EveryNoiseSourceMustBeThereAndRight) {
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["noise"].erase("init"); }),
            "noise.init: missing");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["noise"]["luck"] = 1; }),
            "noise: unknown source");
  // There would be two texts, and two hashes, of one training.
  EXPECT_EQ(RefusalAfter([](Json& r) {
              Json& noise = r["specification"]["noise"];
              noise["dial"] = noise["poke"];
            }),
            "noise.dial.state: expected fixed or free, or the source left out");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["noise"]["init"]["state"] = "maybe"; }),
            "noise.init.state: expected off, fixed or free");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["noise"]["init"]["seed"] = 12; }),
            "noise.init.seed: expected a 64-bit number as a decimal string");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["noise"]["init"]["seed"] = "-1"; }),
            "noise.init.seed: expected a 64-bit number as a decimal string");
  EXPECT_EQ(RefusalAfter([](Json& r) { r["specification"]["noise"]["init"]["lane"] = -1; }),
            "noise.init.lane: expected an integer from 0 to 4294967295");
}

}  // namespace
}  // namespace noisefloor
