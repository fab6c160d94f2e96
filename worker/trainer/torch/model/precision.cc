#include "worker/trainer/torch/model/precision.h"

#include <ATen/autocast_mode.h>

namespace noisefloor::trainer {

at::ScalarType WeightTypeOf(std::string_view precision) {
  return precision == "fp64" ? at::kDouble : at::kFloat;
}

at::ScalarType LayerTypeOf(std::string_view precision) {
  if (precision == "bf16") return at::kBFloat16;
  return precision == "fp16" ? at::kHalf : WeightTypeOf(precision);
}

LowPrecision::LowPrecision(at::DeviceType device, at::ScalarType layers)
    : device_(device), on_(layers == at::kBFloat16 || layers == at::kHalf) {
  if (!on_) return;
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_dtype(device_, layers);
  at::autocast::set_autocast_enabled(device_, true);
}

LowPrecision::~LowPrecision() {
  if (on_) at::autocast::set_autocast_enabled(device_, false);
}

}  // namespace noisefloor::trainer
