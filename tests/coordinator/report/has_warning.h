// Looks for a warning among those of a study.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// Of that severity, with those words in its subject and its text.
inline testing::Matcher<const std::vector<Warning>&> HasWarning(const std::string& severity,
                                                                const std::string& subject,
                                                                const std::string& text) {
  using testing::Field;
  using testing::HasSubstr;
  return testing::Contains(testing::AllOf(Field(&Warning::severity, severity),
                                          Field(&Warning::subject, HasSubstr(subject)),
                                          Field(&Warning::text, HasSubstr(text))));
}

// Of any severity and subject.
inline testing::Matcher<const std::vector<Warning>&> Warns(const std::string& text) {
  return testing::Contains(testing::Field(&Warning::text, testing::HasSubstr(text)));
}

inline testing::Matcher<const std::vector<Warning>&> HasWarning(const std::string& severity,
                                                                const std::string& text) {
  return HasWarning(severity, "", text);
}

}  // namespace noisefloor::report
