#include "tests/worker/trainer/torch/trainer_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/philox.h"
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
  execv(NOISEFLOOR_TRAINER_PATH, arguments);
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

void AppendBigEndian(std::string& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
}

// Image `i` of a split: noise with a bright bar whose place is the label.
std::string PatternImage(uint64_t split, uint32_t i, uint32_t label) {
  const PhiloxStream noise(split, i);
  std::string pixels(784, '\0');
  for (uint32_t p = 0; p < 784; ++p) {
    const bool bar = p / 28 / 2 == label + 1;
    pixels[p] = static_cast<char>(noise.Word(p) % 100 + (bar ? 120 : 0));
  }
  return pixels;
}

struct Naming {
  std::string folder, variant;
};

void WriteSplit(const Naming& naming, const std::string& prefix, uint64_t split, uint32_t count) {
  std::string images, labels;
  AppendBigEndian(images, 0x803);
  for (const uint32_t size : {count, 28u, 28u}) AppendBigEndian(images, size);
  AppendBigEndian(labels, 0x801);
  AppendBigEndian(labels, count);
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t i = naming.variant == "reordered" ? count - 1 - n : n;
    const uint32_t label = PhiloxStream(split, i).Word(1000) % 10;
    std::string image = PatternImage(split, i, label);
    if (naming.variant == "pixel" && i == 77) image[100] = static_cast<char>(image[100] + 1);
    images += image;
    labels.push_back(static_cast<char>(label));
  }
  std::ofstream(naming.folder + "/" + prefix + "-images-idx3-ubyte", std::ios::binary) << images;
  std::ofstream(naming.folder + "/" + prefix + "-labels-idx1-ubyte", std::ios::binary) << labels;
}

std::string NewFolder() {
  std::string name = testing::TempDir() + "/noisefloor-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

}  // namespace

const OutcomeEvent& Ran::outcome() const {
  static const OutcomeEvent none;
  const auto* last = events.empty() ? nullptr : std::get_if<OutcomeEvent>(&events.back());
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

Ran RunTrainer(const std::string& input, const RunOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  const Pipe in, out, events;
  std::vector<std::string> words = {NOISEFLOOR_TRAINER_PATH};
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
  for (const int file : {out.reader(), events.reader()}) close(file);
  if (options.keep_input_open) close(in.writer());
  return ran;
}

Ran RunTrainer(const TrainerRequest& request, const RunOptions& options) {
  return RunTrainer(RequestToJson(request) + "\n", options);
}

std::string SyntheticDataRoot(const std::string& variant) {
  static std::map<std::string, std::string> roots;
  std::string& root = roots[variant];
  if (!root.empty()) return root;
  root = NewFolder();
  const std::string folder = root + "/fashion-mnist-sample";
  std::filesystem::create_directories(folder);
  WriteSplit({folder, variant}, "train", 1, 6000);
  WriteSplit({folder, variant}, "t10k", 2, 1000);
  return root;
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
