// What of other people's bytes reaches the terminal.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/cli/terminal_text.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] =
    "box\x1b[2J\x1b]0;owned\x07\xc2\x9b"
    "1m\x7f\r";
constexpr char kShown[] = "box\\x1b[2J\\x1b]0;owned\\x07\\x9b1m\\x7f\\x0d";

v1::Member Hostile(const std::string& id) {
  v1::Member member;
  member.set_id(id);
  member.set_state(v1::MEMBER_STATE_FAILED);
  member.set_plan(kHostile);
  member.set_worker(kHostile);
  member.mutable_outcome()->set_cause(kHostile);
  return member;
}

CannedAnswers HostileAnswers() {
  CannedAnswers answers;
  answers.members = {Hostile("s1c0r0")};
  answers.artifacts["s1c0r0 log"] = std::string(kHostile) + "\xff";
  answers.study = std::string("a \x1b[1mstudy\x1b[0m of ") + kHostile + "\n";
  answers.sweep.set_id(1);
  answers.sweep.set_failed(1);
  answers.sweep.set_name(kHostile);
  answers.sweep.mutable_sweep()->set_notes(kHostile);
  v1::WorkerSummary worker;
  worker.set_name(kHostile);
  worker.mutable_inventory()->add_devices()->set_model(kHostile);
  worker.mutable_inventory()->mutable_devices(0)->set_note(kHostile);
  worker.mutable_inventory()->add_offers()->set_hardware_class(kHostile);
  worker.mutable_inventory()->mutable_offers(0)->set_stack(kHostile);
  v1::Slot& slot = *worker.mutable_inventory()->add_slots();
  slot.add_devices(0);
  slot.add_offers(0);
  worker.mutable_inventory()->add_withheld()->set_what(kHostile);
  worker.mutable_inventory()->mutable_withheld(0)->set_reason(kHostile);
  worker.add_paused()->set_reason(kHostile);
  answers.workers = {worker};
  answers.explanation = kHostile;
  answers.refusal = kHostile;
  return answers;
}

void ExpectInert(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE(byte >= 0x20 || byte == '\n' || byte == '\t') << int{byte} << " in " << text;
    ASSERT_NE(byte, 0x7f) << text;
    ASSERT_NE(byte, 0xff) << text;
  }
  EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
}

TEST(Terminal, GetsNoControlCharacterOfAnybody) {
  CommandLine line(HostileAnswers());
  for (const uint32_t columns : {0u, 80u}) {
    line.SetTerminal(columns);
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"members", "s1"},
                                                      {"workers"},
                                                      {"status", "s1"},
                                                      {"explain", "s1c0r0"},
                                                      {"explain", "s1"},
                                                      {"report", "s1"},
                                                      {"cancel", "s1"},
                                                      {"retry", "s1"},
                                                      {kHostile},
                                                      {"explain", kHostile}}) {
      std::vector<std::string> more = arguments;
      more.push_back("--colour=never");
      const Printed printed = line.Run(more);
      ExpectInert(printed.out);
      ExpectInert(printed.err);
      EXPECT_THAT(printed.out + printed.err, HasSubstr(columns == 0 ? kShown : "\\x1b"))
          << arguments[0];
    }
  }
}

TEST(Terminal, JsonStaysJson) {
  CommandLine line(HostileAnswers());
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"members", "s1"},
                                                    {"workers"},
                                                    {"status", "s1"},
                                                    {"logs", "s1c0r0"},
                                                    {"explain", "s1c0r0"}}) {
    std::vector<std::string> more = arguments;
    more.push_back("--output=json");
    const Printed printed = line.Run(more);
    ExpectInert(printed.out);
    const auto json = nlohmann::json::parse(printed.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << printed.out;
    EXPECT_THAT(json.dump(), HasSubstr("u001b[2J"));
  }
}

TEST(Terminal, GetsTheLogEscapedAndAFileGetsItsBytes) {
  CommandLine line(HostileAnswers());
  EXPECT_EQ(line.Run({"logs", "s1c0r0"}).out, std::string(kHostile) + "\xff");
  line.SetTerminal(80);
  EXPECT_EQ(line.Run({"logs", "s1c0r0"}).out, std::string(kShown) + "\uFFFD");
}

TEST(Terminal, GetsTheColoursOfTablesAndNothingElseOfThatKind) {
  CommandLine line(HostileAnswers());
  line.SetTerminal(80);
  EXPECT_EQ(line.Run({"report", "s1", "--colour=always"}).out,
            std::string("a \x1b[1mstudy\x1b[0m of ") + kShown + "\n");
}

TEST(TerminalText, OurOwnStylesPass) {
  std::ostringstream out;
  {
    const TerminalGuard guard(out, EscapeStyle::kText);
    out << Style::kBold << "a\x1b[1m" << Style::kPlain << Style::kClearLine << 'b' << "\x1b";
    WriteRaw(out, "\x1b[raw");
  }
  EXPECT_EQ(out.str(), "\x1b[1ma\\x1b[1m\x1b[0m\r\x1b[Kb\\x1b\x1b[raw");
  out << "\x1b";
  EXPECT_THAT(out.str(), ::testing::EndsWith("raw\x1b")) << "the guard has gone";
}

}  // namespace
}  // namespace noisefloor::cli
