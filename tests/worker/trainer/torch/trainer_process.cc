#include "tests/worker/trainer/torch/trainer_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "tests/worker/trainer/torch/synthetic_data.h"
#include "worker/trainer/torch/intake.h"

namespace noisefloor::trainer {

namespace {

constexpr int kEventsDescriptor = 3;

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  int ends[2] = {-1, -1};
  int reader() const { return ends[0]; }
  int writer() const { return ends[1]; }
};

// That of another stack, where the test is run for one.
std::string TrainerPath() {
  const char* other = std::getenv("NOISEFLOOR_OTHER_TRAINER");
  return other == nullptr ? NOISEFLOOR_TRAINER_PATH : other;
}

// In the child: only what is safe after fork.
[[noreturn]] void BecomeTrainer(const Pipe& input, const Pipe& output, const Pipe& events,
                                const RunOptions& options, char** arguments) {
  dup2(input.reader(), STDIN_FILENO);
  dup2(output.writer(), STDOUT_FILENO);
  dup2(output.writer(), STDERR_FILENO);
  if (events.writer() == kEventsDescriptor)
    fcntl(kEventsDescriptor, F_SETFD, 0);
  else
    dup2(events.writer(), kEventsDescriptor);
  if (options.memory_limit_bytes > 0) {
    const rlimit limit = {options.memory_limit_bytes, options.memory_limit_bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  execv(arguments[0], arguments);
  _exit(127);
}

// Reads both pipes to their ends. `on_progress` is called when the first progress event is in.
template <typename OnProgress>
void Gather(const Pipe& output, const Pipe& events, std::string& said, std::string& told,
            OnProgress on_progress) {
  std::array<pollfd, 2> files = {{{output.reader(), POLLIN, 0}, {events.reader(), POLLIN, 0}}};
  std::array<char, 65536> buffer;
  bool progressed = false;
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    poll(files.data(), files.size(), -1);
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      const ssize_t n = read(files[i].fd, buffer.data(), buffer.size());
      if (n > 0)
        (i == 0 ? said : told).append(buffer.data(), static_cast<size_t>(n));
      else
        files[i].fd = -1;
    }
    if (!progressed && told.find("\"progress\"") != std::string::npos) {
      progressed = true;
      on_progress();
    }
  }
}

std::vector<TrainerEvent> ParseEvents(const std::string& text) {
  std::vector<TrainerEvent> events;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const auto event = EventFromJson(text.substr(begin, end - begin));
    EXPECT_TRUE(event.ok()) << event.status().message() << "\n" << text.substr(begin, 300);
    if (event.ok()) events.push_back(*event);
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return events;
}

}  // namespace

const Outcome& Ran::outcome() const {
  static const Outcome none;
  const auto* last = events.empty() ? nullptr : std::get_if<Outcome>(&events.back());
  EXPECT_NE(last, nullptr) << "no outcome; exit code " << exit_code << "\n" << output;
  return last == nullptr ? none : *last;
}

const HelloEvent& Ran::hello() const {
  static const HelloEvent none;
  const auto* first = events.empty() ? nullptr : std::get_if<HelloEvent>(&events.front());
  EXPECT_NE(first, nullptr) << "no hello; exit code " << exit_code << "\n" << output;
  return first == nullptr ? none : *first;
}

std::string Ran::Hash(const std::string& name) const {
  const auto& hashes = outcome().hashes;
  const auto it = hashes.find(name);
  EXPECT_NE(it, hashes.end()) << "no hash " << name << "; " << outcome().message;
  return it == hashes.end() ? "" : it->second;
}

std::vector<Record> Ran::RecordsOf(const std::string& metric) const {
  std::vector<Record> found;
  for (const TrainerEvent& event : events) {
    const auto* records = std::get_if<RecordsEvent>(&event);
    if (records == nullptr) continue;
    std::ranges::copy_if(records->records, std::back_inserter(found),
                         [&](const Record& record) { return record.metric == metric; });
  }
  return found;
}

Ran RunTrainer(const std::string& input, const RunOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  const Pipe in, out;
  Pipe events;
  if (options.nobody_hears) close(std::exchange(events.ends[0], -1));
  std::vector<std::string> words = {TrainerPath()};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv("NOISEFLOOR_EVENTS", std::to_string(kEventsDescriptor).c_str(), 1);
  for (const auto& [name, value] : options.variables) setenv(name.c_str(), value.c_str(), 1);
  const pid_t child = fork();
  if (child == 0) BecomeTrainer(in, out, events, options, arguments.data());
  for (const auto& [name, value] : options.variables) unsetenv(name.c_str());
  for (const int file : {in.reader(), out.writer(), events.writer()}) close(file);
  EXPECT_EQ(write(in.writer(), input.data(), input.size()), static_cast<ssize_t>(input.size()));
  if (!options.keep_input_open) close(in.writer());
  Ran ran;
  std::string told;
  Gather(out, events, ran.output, told, [&] {
    if (options.stop_after_first_progress) kill(child, SIGTERM);
  });
  int status = 0;
  waitpid(child, &status, 0);
  ran.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ran.events = ParseEvents(told);
  close(out.reader());
  if (!options.nobody_hears) close(events.reader());
  if (options.keep_input_open) close(in.writer());
  return ran;
}

Ran RunTrainer(const TrainerRequest& request, const RunOptions& options) {
  return RunTrainer(RequestToJson(request) + "\n", options);
}

TrainerRequest SmallRequest(const std::string& model) {
  TrainerRequest request;
  request.member = "s1c2r3";
  request.specification = ExampleSpecification();
  request.data_root = SyntheticDataRoot();
  request.work_directory = NewFolder();
  Specification& spec = request.specification;
  spec.data.train_examples = 256;
  spec.data.test_examples = 200;
  spec.train.batch_size = 64;
  spec.train.epochs = 2;
  spec.model.name = model;
  if (model == "small_cnn" || model == "resnet18") spec.model.batch_norm_momentum = 0.3;
  if (model == "mlp") spec.model.hidden = 32;
  return request;
}

void Free(Specification& specification, NoiseSource source, uint32_t replicate) {
  const Lane lane{0, replicate + 1};
  specification.Source(source) = {SourceState::kFree, lane, DeriveSeed(0, source, lane)};
}

}  // namespace noisefloor::trainer
