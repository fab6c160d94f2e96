// In which form a study is wanted, and where: `--form` and `--to` of the commands that tell one.
#pragma once

#include <string>

#include "coordinator/cli/command.h"
#include "coordinator/report/study.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::cli {

// What a link leads to; else the path as it is.
std::string LinkTarget(const std::string& path);
// Where a file is to be written: InvalidArgument where it is one that an exported study is read
// from.
absl::Status CheckIsNoneOfAnExport(const std::string& path);

class StudyOutput {
 public:
  void Describe(CLI::App& app);

  // As --form says, else by the ending of --to, else as --output says.
  absl::StatusOr<v1::GetStudyRequest::Form> Form(const Context& context) const;
  const std::string& to() const { return to_; }  // Empty: it is printed.

  // A study that this program has made itself: printed, or into the file.
  absl::Status Tell(Context& context, const report::Study& study) const;

 private:
  std::string form_;
  std::string to_;
};

}  // namespace noisefloor::cli
