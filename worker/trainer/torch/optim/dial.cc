#include "worker/trainer/torch/optim/dial.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/str_split.h"

#include "worker/trainer/cuda/requests.h"
#include "worker/trainer/torch/model/launch.h"

namespace noisefloor::trainer {

namespace {

// Whether `name` is `pattern`, in which each * stands for any characters or none.
// In at most as many steps as the product of their lengths: only the last * ever takes more.
bool Matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  size_t behind_star = std::string_view::npos, taken = 0;  // The last *, and where its part ends.
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      behind_star = ++p;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (behind_star != std::string_view::npos) {
      p = behind_star;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

template <typename T>
void OnHost(const DialDraws& draws, const at::Tensor& gradient, uint64_t step,
            const std::string& name, T size) {
  constexpr int64_t kLeastOfAThread = 4096;
  T* values = gradient.mutable_data_ptr<T>();
  at::parallel_for(0, gradient.numel(), kLeastOfAThread, [&](int64_t begin, int64_t end) {
    draws.Apply(step, name, static_cast<uint64_t>(begin), size,
                std::span(values + begin, static_cast<size_t>(end - begin)));
  });
}

}  // namespace

absl::StatusOr<Dial> Dial::Make(const Specification& specification, const DialDraws& draws,
                                const Model& model, cuda::KernelLauncher* launcher) {
  Dial dial(draws, specification.sources.dial_size, launcher);
  if (specification.Source(NoiseSource::kDial).state == SourceState::kOff) return dial;
  const std::string& text = specification.sources.dial_parameters;
  const std::vector<std::string> patterns = absl::StrSplit(text.empty() ? "*" : text, ',');
  std::vector<bool> used(patterns.size());
  const std::vector<double> rates = model.Rates(1);
  for (size_t place = 0; place < model.parameters().size(); ++place) {
    if (rates[place] == 0) continue;  // What is not learned has no gradient.
    const std::string& name = model.parameters()[place].name;
    bool dialed = false;
    for (size_t p = 0; p < patterns.size(); ++p) {
      if (!Matches(patterns[p], name)) continue;
      dialed = used[p] = true;
    }
    if (!dialed) continue;
    dial.dialed_.push_back({place, name});
    dial.elements_ += model.parameters()[place].value.numel();
  }
  for (size_t p = 0; p < patterns.size(); ++p) {
    if (used[p]) continue;
    const auto learned = std::ranges::find_if(rates, [](double rate) { return rate != 0; });
    const auto first = static_cast<size_t>(learned - rates.begin());
    return InvalidInput("sources.dial.parameters: the model learns no parameter '" + patterns[p] +
                        "'; its first is '" + model.parameters()[first].name + "'");
  }
  return dial;
}

void Dial::Apply(int64_t step, const std::vector<at::Tensor>& gradients) const {
  const at::NoGradGuard no_grad;
  for (const Dialed& dialed : dialed_) {
    const at::Tensor& gradient = gradients[dialed.place];
    const at::Tensor dense = gradient.contiguous();
    ApplyTo(dense, static_cast<uint64_t>(step), dialed.name);
    if (!dense.is_same(gradient)) at::Tensor(gradient).copy_(dense);
  }
}

void Dial::ApplyTo(const at::Tensor& gradient, uint64_t step, const std::string& name) const {
  if (launcher_ != nullptr && gradient.scalar_type() == at::kFloat) {
    LaunchOrThrow(*launcher_, cuda::DialLaunch(draws_.seed(), step, static_cast<float>(size_), name,
                                               gradient.mutable_data_ptr<float>(),
                                               static_cast<uint64_t>(gradient.numel())));
    return;
  }
  const at::Tensor host = gradient.to(at::kCPU);
  if (host.scalar_type() == at::kDouble) {
    OnHost(draws_, host, step, name, size_);
  } else {
    OnHost(draws_, host, step, name, static_cast<float>(size_));
  }
  if (!gradient.is_cpu()) at::Tensor(gradient).copy_(host);
}

}  // namespace noisefloor::trainer
