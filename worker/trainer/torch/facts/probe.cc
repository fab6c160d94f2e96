#include "worker/trainer/torch/facts/probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>

namespace noisefloor::trainer {

namespace {

// Field number `index` of a line separated by commas.
std::string Field(const std::string& line, int index) {
  std::istringstream stream(line);
  std::string field;
  for (int i = 0; i <= index; ++i) {
    if (!std::getline(stream, field, ',')) return "";
  }
  return field;
}

std::string ReadFromStart(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = pread(file, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(n));
  }
}

absl::Status Failure(const char* call) {
  return MakeError(absl::StatusCode::kUnavailable, std::string(call) + ": " + std::strerror(errno));
}

// A descriptor that is closed at the end of its block.
struct Descriptor {
  explicit Descriptor(int descriptor) : number(descriptor) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

// Puts standard output back, also when an exception passes.
struct StandardOutputBack {
  explicit StandardOutputBack(int before) : before_(before) {}
  ~StandardOutputBack() {
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
  }
  StandardOutputBack(const StandardOutputBack&) = delete;
  StandardOutputBack& operator=(const StandardOutputBack&) = delete;

 private:
  const int before_;
};

}  // namespace

absl::StatusOr<std::string> OutputOf(const std::function<void()>& work) {
  // A file, not a pipe: it takes any amount of output without a reader.
  const Descriptor heard(memfd_create("noisefloor-heard", MFD_CLOEXEC));
  if (heard.number < 0) return Failure("memfd_create");
  const Descriptor before(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (before.number < 0) return Failure("keeping standard output");
  std::fflush(stdout);
  if (dup2(heard.number, STDOUT_FILENO) < 0) return Failure("dup2");
  {
    const StandardOutputBack back(before.number);
    work();
  }
  return ReadFromStart(heard.number);
}

Json ParseVerboseOutput(const std::string& output) {
  std::set<std::string> convolutions;
  Json observed = {{"onednn_isa", nullptr}};
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (const size_t isa = line.find("cpu,isa:"); isa != std::string::npos) {
      observed["onednn_isa"] = line.substr(isa + 8);
    } else if (line.find(",exec,cpu,convolution,") != std::string::npos) {
      convolutions.insert(Field(line.substr(line.find(",exec,cpu,") + 1), 3));
    }
  }
  observed["onednn_convolutions"] = convolutions;
  return observed;
}

std::string MklModeName(int mode) {
  switch (mode) {
    case 0:
    case 1: return "OFF";
    case 2: return "AUTO";
    case 3: return "COMPATIBLE";
    case 4: return "SSE2";
    case 6: return "SSSE3";
    case 7: return "SSE4_1";
    case 8: return "SSE4_2";
    case 9: return "AVX";
    case 10: return "AVX2";
    case 12: return "AVX512";
    case 14: return "AVX512_E1";
  }
  return "mode " + std::to_string(mode);
}

bool WasObserved(const Json& observed) {
  const auto said = [&](const char* key) {
    return observed.contains(key) && observed[key].is_string();
  };
  return said("onednn_isa") && said("mkl_cbwr");
}

}  // namespace noisefloor::trainer
