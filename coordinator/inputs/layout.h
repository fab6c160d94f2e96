// Where the files of an exported sweep and of others' runs lie. Pure.
#pragma once

#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace noisefloor::inputs {

inline constexpr std::string_view kInputFile = "input.json";
inline constexpr std::string_view kMembersFile = "members.json";
inline constexpr std::string_view kStudyFile = "study.json";

// Whether something of that name, at the top of an export, is a file or folder that exports write.
bool IsOfExport(std::string_view name);

// Of a folder of runs that others trained.
inline constexpr std::string_view kRunsFile = "runs.csv";
inline constexpr std::string_view kLabelsFile = "labels.npy";
inline constexpr std::string_view kClassesFile = "classes.txt";
inline constexpr std::string_view kGroupsFile = "groups.csv";

// "predictions/s1c0r0.npy"; "predictions/s1c0r0-3.npy" of "predictions-3", those after the third
// evaluation; "evaluation_labels/cifar10.npy". "": such an artifact is not exported.
std::string PlaceOf(std::string_view artifact_kind, std::string_view member,
                    const nlohmann::json& specification);

}  // namespace noisefloor::inputs
