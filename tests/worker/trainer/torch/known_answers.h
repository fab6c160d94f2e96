// What the trainings of known_cases.h end in, as first computed by the release that began the
// table. An answer changes when the order of arithmetic does: CONTRIBUTING.md, "what must follow".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace noisefloor::trainer {

// The same on every machine.
struct PortableAnswer {
  std::string_view init, first_batches;
};
std::optional<PortableAnswer> PortableAnswerOf(std::string_view known_case);

// Of one hardware class of one processor model.
struct Answer {
  std::string_view weights, logits;
};
std::optional<Answer> AnswerOf(std::string_view processor, std::string_view hardware_class,
                               std::string_view known_case);

// The row of this table, as it stands in known_answers.cc.
std::string RowOf(std::string_view processor, std::string_view hardware_class,
                  std::string_view known_case, const Answer& answer);

}  // namespace noisefloor::trainer
