// Memory of CPU tensors: big blocks are kept and used again, on huge pages, since every step asks
// for the same sizes. The C library gives them back to the kernel each time, and clearing fresh
// pages then costs more than half of a small network's step. Changes no values. Any thread.
#pragma once

namespace noisefloor::trainer {

// Call once, before the first tensor. Never undone.
void UseKeptMemory();

// Gives the blocks that are not in use back to the kernel, which clears them before they are used
// again: once, between phases of very different sizes.
void ReleaseKeptMemory();

}  // namespace noisefloor::trainer
