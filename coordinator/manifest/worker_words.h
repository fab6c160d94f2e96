// What every worker that leaves by itself is told, whoever starts it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// From SIGTERM until what runs is asked to end: its trainers may keep a checkpoint.
inline constexpr int64_t kDrainSeconds = 1;

// Options of noisefloor-worker. `idle_seconds` 0: it stays.
std::vector<std::string> LeavingWords(int64_t idle_seconds);

// The class that a worker must have, with so many GPUs in each slot as that class is of; none
// without a class.
std::vector<std::string> ClassWords(const std::string& hardware, uint32_t gpus_per_slot);

// Of what people add to those words. InvalidArgument names the option that is none, is said by us,
// or holds a secret. `ours`: names such as "--state". Whether a worker knows the option it says
// itself: the image may have another one.
absl::Status CheckWorkerOptions(const std::vector<std::string>& options,
                                const std::vector<std::string>& ours);

// Of workers together: lower-case letters, digits and '-', a letter first.
absl::Status CheckWorkersName(std::string_view name, size_t longest);

// Of an environment; `ours` are said already.
absl::Status CheckVariables(const std::vector<std::pair<std::string, std::string>>& variables,
                            const std::vector<std::string>& ours);

// InvalidArgument when it is no UTF-8, has control characters, or holds a token: `option` names it.
absl::Status CheckText(std::string_view option, std::string_view text);

// As a word of a shell's line.
std::string CommentWord(const std::string& text);

}  // namespace noisefloor
