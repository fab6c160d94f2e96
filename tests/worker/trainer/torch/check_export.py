#!/usr/bin/env python3
"""Loads a member's weights.safetensors into Python and compares its logits with predictions.npy.

    check_export.py FOLDER MODEL BATCH_NORM(0|1) STANDARDISE(0|1) HIDDEN

FOLDER holds weights.safetensors, predictions.npy and evaluation_images.npy. Reads the files by
their public formats alone. Exit code 0 when the logits agree to rounding, else 1.
"""
import json
import pathlib
import struct
import sys

import numpy
import torch
from reference_models import make_model, weights_and_buffers


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", (name, entry)
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[8 + length + begin:8 + length + end], dtype="<f4")
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors


def main():
    folder = pathlib.Path(sys.argv[1])
    name, batch_norm, standardise = sys.argv[2], sys.argv[3] == "1", sys.argv[4] == "1"
    images = numpy.load(folder / "evaluation_images.npy")
    logits = numpy.load(folder / "predictions.npy")
    assert images.dtype == numpy.uint8 and logits.dtype == numpy.float32
    x = torch.from_numpy(images).permute(0, 3, 1, 2).double() / 255.0
    if standardise:
        flat = x.flatten(1)
        count = flat.shape[1]
        deviation = flat.std(dim=1, unbiased=False).clamp(min=count ** -0.5)
        x = (x - flat.mean(dim=1).view(-1, 1, 1, 1)) / deviation.view(-1, 1, 1, 1)
    model = make_model(name, x.shape[1], x.shape[2], logits.shape[1], batch_norm, 1e-3,
                       int(sys.argv[5])).double()
    tensors = read_safetensors(folder / "weights.safetensors")
    wanted = weights_and_buffers(model)
    assert sorted(tensors) == sorted(wanted), (sorted(tensors), sorted(wanted))
    with torch.no_grad():
        for key, tensor in wanted.items():
            tensor.copy_(tensors[key])
        model.eval()
        expected = model(x).numpy()
    worst = float(numpy.abs(expected - logits).max())
    scale = float(numpy.abs(expected).max())
    print(f"{name}: {logits.shape[0]} examples, largest difference {worst:.3g}, "
          f"largest logit {scale:.3g}")
    sys.exit(0 if worst <= 2e-5 * max(scale, 1.0) else 1)


if __name__ == "__main__":
    main()
