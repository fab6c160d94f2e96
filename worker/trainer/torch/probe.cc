#include "worker/trainer/torch/probe.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <sstream>
#include <vector>

extern char** environ;

namespace noisefloor::trainer {

namespace {

constexpr size_t kMostOutput = 1 << 20;

// Field number `index` of a line separated by commas.
std::string Field(const std::string& line, int index) {
  std::istringstream stream(line);
  std::string field;
  for (int i = 0; i <= index; ++i) {
    if (!std::getline(stream, field, ',')) return "";
  }
  return field;
}

std::string ReadAll(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < kMostOutput) {
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  return text;
}

// Starts the child with its standard output in `to`; 0 when that fails.
pid_t StartChild(const std::string& program, int to) {
  std::vector<std::string> variables = {"ONEDNN_VERBOSE=1", "MKL_VERBOSE=1"};
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string name = program;
  std::string option = "--probe";
  std::array<char*, 3> arguments = {name.data(), option.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(),
                  environment.data()) != 0) {
    child = 0;
  }
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

}  // namespace

Json ParseVerboseOutput(const std::string& output) {
  std::set<std::string> convolutions;
  Json observed = {{"onednn_isa", nullptr}, {"mkl", nullptr}, {"mkl_cnr", nullptr}};
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (const size_t isa = line.find("cpu,isa:"); isa != std::string::npos) {
      observed["onednn_isa"] = line.substr(isa + 8);
    } else if (line.find(",exec,cpu,convolution,") != std::string::npos) {
      convolutions.insert(Field(line.substr(line.find(",exec,cpu,") + 1), 3));
    } else if (line.starts_with("MKL_VERBOSE ")) {
      const size_t cnr = line.find("CNR:");
      if (cnr == std::string::npos)
        observed["mkl"] = line.substr(12);
      else
        observed["mkl_cnr"] = line.substr(cnr + 4, line.find(' ', cnr) - cnr - 4);
    }
  }
  observed["onednn_convolutions"] = convolutions;
  return observed;
}

Json ObserveLibraries(const std::string& program) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {{"error", "no pipe"}};
  const pid_t child = StartChild(program, ends[1]);
  close(ends[1]);
  const std::string output = child > 0 ? ReadAll(ends[0]) : "";
  close(ends[0]);
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return {{"error", "the probe ended with status " + std::to_string(status)}};
  return ParseVerboseOutput(output);
}

}  // namespace noisefloor::trainer
