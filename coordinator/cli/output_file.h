// Standard output or standard error as a stream's buffer that knows whether all was written.
// One thread.
#pragma once

#include <array>
#include <streambuf>

#include "common/base/status.h"

namespace noisefloor::cli {

class OutputFile final : public std::streambuf {
 public:
  // Takes over an open file.
  explicit OutputFile(int file);
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Writes what waits and closes the file: a disk over a network may say only then that it is full.
  // The first error of all. Repeatable.
  absl::Status Finish();
  // Whether what broke was a pipe whose reader has gone, as `| head` does: nothing to complain of.
  bool ReaderLeft() const;

 private:
  int_type overflow(int_type character) override;
  int sync() override;
  bool WriteOut();

  int file_;
  int error_ = 0;
  std::array<char, 1 << 16> waiting_;
};

// Standard streams that the caller closed are opened again, such that writing fails: the next file
// that this process opens must not become its standard output. First thing in main.
void HoldStandardStreams();

}  // namespace noisefloor::cli
