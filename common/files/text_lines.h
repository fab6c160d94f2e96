// Lines of a text that people or other programs wrote; each is checked before it is given. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace noisefloor {

// InvalidArgument as PATH:LINE: what is wrong.
absl::Status AtLine(const std::string& path, int64_t line, std::string_view what);

// Lines end in LF or CRLF; the last one may end without. UTF-8 and no byte 0, else they are
// refused.
class TextLines {
 public:
  // `text` is the content of `path`, and must outlive this.
  TextLines(std::string path, std::string_view text, size_t most_bytes = size_t{64} << 10)
      : path_(std::move(path)), rest_(text), most_bytes_(most_bytes) {}

  const std::string& path() const { return path_; }
  int64_t number() const { return number_; }  // Of the line that was given last, from 1.
  bool at_end() const { return rest_.empty(); }
  absl::StatusOr<std::string_view> Next();
  absl::Status Wrong(std::string_view what) const { return AtLine(path_, number_, what); }

 private:
  std::string path_;
  std::string_view rest_;
  size_t most_bytes_;
  int64_t number_ = 0;
};

}  // namespace noisefloor
