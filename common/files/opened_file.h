// A file read through a descriptor that somebody opened, however they found it.
#pragma once

#include <string>

#include "common/files/file_system.h"

namespace noisefloor {

class OpenedFile final : public ReadableFile {
 public:
  // Takes the descriptor. `shown` is what failures call it.
  OpenedFile(int file, std::string shown);
  ~OpenedFile() override;
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  absl::StatusOr<size_t> Read(std::span<char> into) override;

 private:
  const int file_;
  const std::string shown_;
};

}  // namespace noisefloor
