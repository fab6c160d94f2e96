#include "coordinator/inputs/read_export.h"

#include <utility>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "coordinator/inputs/layout.h"
#include "coordinator/inputs/paths.h"

namespace noisefloor::inputs {

namespace {

constexpr uint64_t kMostJsonBytes = uint64_t{4} << 30;

absl::Status PutBelow(const std::string& folder, StudySource& source) {
  return ForEachFile(source, [&](InputFile& file) {
    if (!LiesBelow(file.path)) {
      return InvalidInput(fmt::format("the {} of {}: '{}' leads out of the folder", file.kind,
                                      file.member, file.path));
    }
    file.path = fmt::format("{}/{}", folder, file.path);
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<StudySource> ReadSource(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kInputFile);
  if (!PathExists(folder)) return InvalidInput(fmt::format("'{}': no such folder", folder));
  if (!PathExists(path)) {
    return InvalidInput(
        fmt::format("{}: it has no {}, as folders have that export wrote of a sweep that trains "
                    "(of kind infer and measure there is none)",
                    folder, kInputFile));
  }
  NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostJsonBytes));
  absl::StatusOr<StudySource> source = SourceFromJson(text);
  if (!source.ok()) return Annotate(source.status(), path);
  NF_RETURN_IF_ERROR(Annotate(PutBelow(folder, *source), path));
  return source;
}

absl::StatusOr<std::string> FindExported(const InputFile& file) {
  NF_RETURN_IF_ERROR(CheckIsFile(file.path));
  NF_ASSIGN_OR_RETURN(const std::string found, Sha256File(file.path));
  if (found == file.sha256) return file.path;
  return MakeError(absl::StatusCode::kDataLoss, fmt::format("{}: its SHA-256 is {}, expected {}",
                                                            file.path, found, file.sha256));
}

absl::Status CheckFiles(const StudySource& source) {
  return ForEachFile(source, [](const InputFile& file) { return FindExported(file).status(); });
}

absl::StatusOr<LoadedStudy> LoadWhole(StudySource source, FindFile find) {
  LoadedStudy loaded = LoadArrays(std::move(source), std::move(find));
  if (!loaded.faults.empty()) return loaded.faults.front();
  return loaded;
}

absl::StatusOr<LoadedStudy> ReadExport(const std::string& folder) {
  NF_ASSIGN_OR_RETURN(StudySource source, ReadSource(folder));
  return LoadWhole(std::move(source), FindExported);
}

}  // namespace noisefloor::inputs
