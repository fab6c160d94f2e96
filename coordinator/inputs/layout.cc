#include "coordinator/inputs/layout.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "fmt/format.h"

#include "common/base/names.h"

namespace noisefloor::inputs {

namespace {

using Json = nlohmann::json;

struct Kind {
  std::string_view kind;  // Also the name of its folder.
  std::string_view ending;
};
constexpr Kind kKinds[] = {
    {"predictions", ".npy"}, {"weights", ".safetensors"}, {"kernels", ".json"}};
// One of each test set, which its first member to run keeps for all.
constexpr Kind kSetKinds[] = {
    {"evaluation_labels", ".npy"}, {"evaluation_images", ".npy"}, {"evaluation_groups", ".csv"}};

// What only people read, and forms of the study that are not read back.
constexpr std::string_view kOtherFiles[] = {"README.md", "sweep.yaml", "study.csv", "infer.csv",
                                            "report.html"};

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t NumberOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// "cifar10", "cifar10-500" with `test_examples` of 500: what members are tested on. Of a folder of
// own images, which sizes and columns make many sets of, with the head of its identity:
// "faces-1a2b3c4d-500".
std::string TestSetOf(std::string_view member, const Json& specification) {
  const Json data = specification.is_object() && specification.contains("data")
                        ? specification["data"]
                        : Json::object();
  if (!data.is_object()) return std::string(member);
  std::string name = TextOf(data, "name");
  if (!IsName(name)) name = member;  // It becomes part of a path.
  const std::string identity = TextOf(data, "identity").substr(0, 8);
  const bool is_part_of_path = identity.empty() || IsName(identity);
  if (NumberOf(data, "image_size") != 0 && is_part_of_path) name += "-" + identity;
  const int64_t examples = NumberOf(data, "test_examples");
  return examples == 0 ? name : fmt::format("{}-{}", name, examples);
}

}  // namespace

bool IsOfExport(std::string_view name) {
  const auto is_folder = [&](const Kind& kind) { return kind.kind == name; };
  return name == kInputFile || name == kMembersFile || name == kStudyFile ||
         std::ranges::find(kOtherFiles, name) != std::end(kOtherFiles) ||
         std::ranges::any_of(kKinds, is_folder) || std::ranges::any_of(kSetKinds, is_folder);
}

std::string PlaceOf(std::string_view artifact_kind, std::string_view member,
                    const Json& specification) {
  if (!IsName(artifact_kind)) return "";  // Trainers choose it, and it becomes part of a path.
  for (const Kind& known : kKinds) {
    if (artifact_kind != known.kind && !artifact_kind.starts_with(fmt::format("{}-", known.kind))) {
      continue;
    }
    return fmt::format("{}/{}{}{}", known.kind, member, artifact_kind.substr(known.kind.size()),
                       known.ending);
  }
  for (const Kind& known : kSetKinds) {
    if (artifact_kind != known.kind) continue;
    return fmt::format("{}/{}{}", artifact_kind, TestSetOf(member, specification), known.ending);
  }
  return "";
}

}  // namespace noisefloor::inputs
