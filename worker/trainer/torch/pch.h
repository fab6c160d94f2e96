// What every file here includes of LibTorch, precompiled. Only ATen with its autograd: the networks
// are functions of tensors, and torch::nn would bring initialisers that use its own generators.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
