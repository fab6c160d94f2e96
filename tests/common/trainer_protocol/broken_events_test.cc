// Every way a trainer's event can be wrong, with the exact answer.
#include "gtest/gtest.h"

#include "common/trainer_protocol/json.h"

namespace noisefloor {
namespace {

struct Broken {
  const char* line;
  const char* message;
};

const std::string kHash(64, 'a');

class BrokenEventTest : public testing::TestWithParam<Broken> {};

TEST_P(BrokenEventTest, IsRefusedWithItsPlace) {
  EXPECT_EQ(Message(EventFromJson(GetParam().line).status()), GetParam().message);
}

#define NF_HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NF_OUTCOME(event, cause, hashes, metrics, classes)                           \
  "{\"event\":\"" event "\",\"cause\":" cause ",\"message\":\"\",\"hashes\":" hashes \
  ",\"metrics\":" metrics ",\"per_class_accuracy\":" classes                         \
  ",\"environment\":{},\"train_seconds\":1}"

INSTANTIATE_TEST_SUITE_P(
    Events, BrokenEventTest,
    testing::Values(
        Broken{"[]", "the text: expected a JSON object"}, Broken{"{}", "event: missing"},
        Broken{R"({"event":1})", "event: expected a text of at most 200 bytes"},
        Broken{R"({"event":"hi"})",
               "event: expected hello, records, progress, artifact, done, diverged or failed"},
        Broken{R"({"event":"hello"})", "protocol: missing"},
        Broken{
            R"({"event":"hello","protocol":0,"stack":"a","build":"b","data_identity":"","environment":{}})",
            "protocol: expected an integer from 1 to 1000000"},
        Broken{
            R"({"event":"hello","protocol":1,"stack":"a","build":"b","data_identity":"","environment":[]})",
            "environment: expected an object"},
        Broken{
            R"({"event":"hello","protocol":1,"stack":"a","build":"b","data_identity":"","environment":{},"x":1})",
            "x: unknown key"},
        Broken{R"({"event":"progress","step":-1,"step_count":1})",
               "step: expected an integer from 0 to 9007199254740992"},
        Broken{R"({"event":"progress","step":1.5,"step_count":1})",
               "step: expected an integer from 0 to 9007199254740992"},
        Broken{R"({"event":"progress","step":18446744073709551615,"step_count":1})",
               "step: expected an integer from 0 to 9007199254740992"},
        Broken{R"({"event":"records","sequence":0,"records":[]})",
               "sequence: expected an integer from 1 to 9007199254740992"},
        Broken{R"({"event":"records","sequence":1,"records":{}})",
               "records: expected a list of 1 to 100000 records"},
        Broken{R"({"event":"records","sequence":1,"records":[]})",
               "records: expected a list of 1 to 100000 records"},
        Broken{R"({"event":"records","sequence":1,"records":[[1,2,"a",1],[1,2,"",1]]})",
               "records[1][2]: expected the name of a metric, 1 to 200 bytes"},
        Broken{R"({"event":"records","sequence":1,"records":[[1,2,"a"]]})",
               "records[0]: expected [step, epoch, metric, value]"},
        Broken{R"({"event":"records","sequence":1,"records":[[1,2,"a",1],[1,2,3,4]]})",
               "records[1]: expected [step, epoch, metric, value]"},
        Broken{R"({"event":"records","sequence":1,"records":[[1,2,"a","NaN"]]})",
               "records[0][3]: expected a number, \"nan\", \"inf\" or \"-inf\""},
        Broken{R"({"event":"records","sequence":1,"records":[[1,null,"a",1]]})",
               "records[0][1]: expected a number, \"nan\", \"inf\" or \"-inf\""},
        Broken{R"({"event":"records","sequence":1,"records":[[-5,1,"a",1]]})",
               "records[0][0]: expected a step from 0 on"},
        Broken{R"({"event":"artifact","kind":"weights","path":"../x","sha256":")" NF_HASH
               R"(","size":1})",
               "path: expected a path inside the work directory"},
        Broken{R"({"event":"artifact","kind":"weights","path":"a/../../x","sha256":")" NF_HASH
               R"(","size":1})",
               "path: expected a path inside the work directory"},
        Broken{R"({"event":"artifact","kind":"weights","path":"a\u0000b","sha256":")" NF_HASH
               R"(","size":1})",
               "path: expected a path inside the work directory"},
        Broken{R"({"event":"artifact","kind":"weights","path":"/etc/passwd","sha256":")" NF_HASH
               R"(","size":1})",
               "path: expected a path inside the work directory"},
        Broken{R"({"event":"artifact","kind":"weights","path":"","sha256":")" NF_HASH
               R"(","size":1})",
               "path: expected a path inside the work directory"},
        Broken{R"({"event":"artifact","kind":"weights","path":"w","sha256":"ABC","size":1})",
               "sha256: expected 64 lower-case hexadecimal digits"},
        Broken{R"({"event":"artifact","kind":"weights","path":"w","sha256":")" NF_HASH
               R"(","size":-1})",
               "size: expected an integer from 0 to 9007199254740992"},
        Broken{NF_OUTCOME("done", "\"bug\"", "{}", "{}", "[]"),
               "cause: expected a cause with failed, none otherwise"},
        Broken{NF_OUTCOME("failed", "\"none\"", "{}", "{}", "[]"),
               "cause: expected a cause with failed, none otherwise"},
        Broken{NF_OUTCOME("failed", "\"boredom\"", "{}", "{}", "[]"),
               "cause: expected a known cause class"},
        Broken{NF_OUTCOME("failed", "\"lost_worker\"", "{}", "{}", "[]"),
               "cause: expected another cause than lost_worker"},
        Broken{NF_OUTCOME("done", "\"none\"", "{\"init\":\"12\"}", "{}", "[]"),
               "hashes.init: expected 64 lower-case hexadecimal digits"},
        Broken{NF_OUTCOME("done", "\"none\"", "[]", "{}", "[]"),
               "hashes: expected an object of at most 10000 hashes"},
        Broken{NF_OUTCOME("done", "\"none\"", "{}", "{\"top1\":true}", "[]"),
               "metrics.top1: expected a number"},
        Broken{NF_OUTCOME("done", "\"none\"", "{}", "[]", "[]"),
               "metrics: expected an object of at most 10000 numbers"},
        Broken{NF_OUTCOME("done", "\"none\"", "{}", "{}", "[\"high\"]"),
               "per_class_accuracy: expected numbers"},
        Broken{NF_OUTCOME("done", "\"none\"", "{}", "{}", "0.5"),
               "per_class_accuracy: expected a list of at most 10000 numbers"}));

TEST(BrokenEventSizeTest, ALineAboveTheLimitIsNotParsed) {
  EXPECT_EQ(Message(EventFromJson(std::string(kMaxEventBytes + 1, ' ')).status()),
            "event of 4194305 bytes: at most 4194304");
}

std::string RecordsOfMetrics(int count, const std::string& name) {
  std::string records;
  for (int i = 0; i < count; ++i) {
    const std::string metric = name + std::to_string(i);
    records += (i == 0 ? "[1,2,\"" : ",[1,2,\"") + metric + "\",3]";
  }
  return R"({"event":"records","sequence":1,"records":[)" + records + "]}";
}

TEST(BrokenEventSizeTest, AnEventHasAtMostAThousandDifferentMetrics) {
  EXPECT_TRUE(EventFromJson(RecordsOfMetrics(1000, "m")).ok());
  EXPECT_EQ(Message(EventFromJson(RecordsOfMetrics(1001, "m")).status()),
            "records: expected at most 1000 different metrics, got 1001");
}

TEST(BrokenEventSizeTest, ANameHasAtMost200Bytes) {
  EXPECT_TRUE(EventFromJson(RecordsOfMetrics(1, std::string(199, 'm'))).ok());
  EXPECT_EQ(Message(EventFromJson(RecordsOfMetrics(1, std::string(200, 'm'))).status()),
            "records[0][2]: expected the name of a metric, 1 to 200 bytes");
}

// "KEY:VALUE" so many times, each key with its number.
std::string Entries(int count, const std::string& value) {
  std::string entries;
  for (int i = 0; i < count; ++i) {
    entries += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":" + value;
  }
  return entries;
}

std::string Ending(int hashes, int metrics, int classes) {
  std::string per_class;
  for (int i = 0; i < classes; ++i) per_class += i == 0 ? "1" : ",1";
  return R"({"event":"done","cause":"none","message":"","hashes":{)" +
         Entries(hashes, '"' + kHash + '"') + R"(},"metrics":{)" + Entries(metrics, "1") +
         R"(},"per_class_accuracy":[)" + per_class + R"(],"environment":{},"train_seconds":1})";
}

TEST(BrokenEventSizeTest, AnOutcomeHasAtMostTenThousandOfEach) {
  EXPECT_EQ(Message(EventFromJson(Ending(10000, 10000, 10000)).status()), "");
  EXPECT_EQ(Message(EventFromJson(Ending(10001, 0, 0)).status()),
            "hashes: expected an object of at most 10000 hashes");
  EXPECT_EQ(Message(EventFromJson(Ending(0, 10001, 0)).status()),
            "metrics: expected an object of at most 10000 numbers");
  EXPECT_EQ(Message(EventFromJson(Ending(0, 0, 10001)).status()),
            "per_class_accuracy: expected a list of at most 10000 numbers");
}

TEST(BrokenEventSizeTest, NamesInAnOutcomeHaveAtMost200Bytes) {
  const auto with = [](const std::string& hash, const std::string& metric) {
    return Message(EventFromJson(R"({"event":"done","cause":"none","message":"","hashes":{")" +
                                 hash + "\":\"" + kHash + R"("},"metrics":{")" + metric +
                                 R"(":1},"per_class_accuracy":[],"environment":{},)" +
                                 R"("train_seconds":1})")
                       .status());
  };
  const std::string most(200, 'n');
  EXPECT_EQ(with(most, most), "");
  EXPECT_EQ(with(most + "n", most),
            "hashes." + most + "n: expected 64 lower-case hexadecimal digits");
  EXPECT_EQ(with(most, most + "n"), "metrics." + most + "n: expected a number");
}

TEST(BrokenEventSizeTest, DeepNestingIsRefused) {
  EXPECT_EQ(Message(EventFromJson(std::string(100, '[') + std::string(100, ']')).status()),
            "JSON nested deeper than 64 levels");
}

TEST(BrokenEventSizeTest, TextThatIsNotJsonSaysWhere) {
  const std::string message = Message(EventFromJson("{\"event\":").status());
  EXPECT_TRUE(message.starts_with("not JSON: ")) << message;
  EXPECT_NE(message.find("column 10"), std::string::npos) << message;
}

}  // namespace
}  // namespace noisefloor
