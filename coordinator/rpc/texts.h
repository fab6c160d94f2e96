// Texts on their way from the store to people.
#pragma once

#include <string>

#include "common/base/status.h"

namespace noisefloor {

// The texts of one answer, checked as they are put into its message. A text that is no UTF-8 would
// reach nobody: whoever asks cannot parse the answer. All that was kept was UTF-8, so one that is
// none is damage. One thread.
class Texts {
 public:
  // The text, or nothing instead of one that is no UTF-8.
  std::string Of(std::string text);
  // DataLoss when one was none. `database`: its path.
  absl::Status Check(const std::string& database) const;

 private:
  bool readable_ = true;
};

}  // namespace noisefloor
