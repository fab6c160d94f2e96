#include "coordinator/inputs/on_the_way.h"

#include <charconv>
#include <system_error>

namespace noisefloor::inputs {

std::optional<OnTheWay> ReadOnTheWay(std::string_view artifact_kind) {
  for (const std::string_view kind : {"predictions", "weights"}) {
    if (!artifact_kind.starts_with(kind)) continue;
    const std::string_view rest = artifact_kind.substr(kind.size());
    if (!rest.starts_with('-')) continue;
    int64_t number = 0;
    const auto read = std::from_chars(rest.begin() + 1, rest.end(), number);
    if (read.ec != std::errc() || read.ptr != rest.end() || number <= 0) continue;
    return OnTheWay{kind, number};
  }
  return std::nullopt;
}

std::map<int64_t, const InputFile*> FilesOnTheWay(const StudySource::MemberFiles& files,
                                                  std::string_view kind) {
  std::map<int64_t, const InputFile*> found;
  for (const InputFile& file : files.on_the_way) {
    const std::optional<OnTheWay> of = ReadOnTheWay(file.kind);
    if (of && of->kind == kind) found[of->evaluation] = &file;
  }
  return found;
}

}  // namespace noisefloor::inputs
