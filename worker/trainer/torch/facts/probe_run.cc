#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/native/verbose_wrapper.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "worker/trainer/torch/facts/probe.h"

namespace noisefloor::trainer {

namespace {

// Forward and backward. Without autograd: its engine starts threads, which belong to the training.
void Compute() {
  const auto options = at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast);
  const at::Tensor images = at::full({8, 16, 16, 16}, 0.5, options);
  const at::Tensor weight = at::full({32, 16, 3, 3}, 0.25, options);
  const std::vector<int64_t> one = {1, 1};
  const at::Tensor sums = at::convolution(images, weight, {}, /*stride=*/one, /*padding=*/one,
                                          /*dilation=*/one, /*transposed=*/false,
                                          /*output_padding=*/{0, 0}, /*groups=*/1);
  at::convolution_backward(at::ones_like(sums), images, weight, /*bias_sizes=*/{32}, one, one, one,
                           /*transposed=*/false, /*output_padding=*/{0, 0}, /*groups=*/1,
                           /*output_mask=*/{true, true, true});
}

// Of the mode's getter only the name inside MKL leaves LibTorch's library; null without it. (MKL's
// verbose output says the mode, too, but spins for half a second to measure the clock first.)
Json MklMode() {
  constexpr int kBranch = 1;  // MKL_CBWR_BRANCH
  void* get = dlsym(RTLD_DEFAULT, "mkl_serv_cbwr_get");
  if (get == nullptr) return nullptr;
  return MklModeName(reinterpret_cast<int (*)(int)>(get)(kBranch));
}

// By oneDNN's own variable: then its output stays on, as it was asked for.
bool VerboseOutputIsWanted() {
  const char* asked = std::getenv("ONEDNN_VERBOSE");
  if (asked == nullptr) return false;
  const std::string_view level = asked;
  return !level.empty() && level != "0" && level != "none";
}

}  // namespace

absl::StatusOr<std::string> VerboseOutputOf(const std::function<void()>& work) {
  const bool wanted = VerboseOutputIsWanted();
  return OutputOf([&] {
    if (!wanted) torch::verbose::_mkldnn_set_verbose(1);
    work();
    if (!wanted) torch::verbose::_mkldnn_set_verbose(0);
  });
}

Json ObserveLibraries() {
  at::set_num_threads(1);
  const auto output = VerboseOutputOf(Compute);
  Json observed = ParseVerboseOutput(output.ok() ? *output : "");
  if (!output.ok()) observed["error"] = Message(output.status());
  observed["mkl_cbwr"] = MklMode();
  return observed;
}

}  // namespace noisefloor::trainer
