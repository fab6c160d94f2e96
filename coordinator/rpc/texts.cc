#include "coordinator/rpc/texts.h"

#include "fmt/format.h"

#include "common/base/utf8.h"

namespace noisefloor {

std::string Texts::Of(std::string text) {
  if (IsUtf8(text)) return text;
  readable_ = false;
  return {};
}

absl::Status Texts::Check(const std::string& database) const {
  if (readable_) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: holds text that is not UTF-8; the file is damaged: put a "
                               "backup in its place",
                               database));
}

}  // namespace noisefloor
