// What each kernel takes: one value, by copy. Read by three compilers (NVRTC, the trainer's, the
// rehearsal's), so only types of the language and members whose layout all of them share.
//
// Pointers are the device's. Lengths and places are counts of elements unless said otherwise.
#pragma once

namespace noisefloor::cuda {

using U8 = unsigned char;
using U32 = unsigned int;
using U64 = unsigned long long;
using I64 = long long;

// AugmentImages: block b makes image b of a batch, and its label. Grid: one block per image; block:
// a multiple of 32 threads, at most 1024. What is made: worker/trainer/data/augment.h.
struct AugmentArguments {
  const U8* images;     // {examples, channels, height, width}
  const I64* labels;    // {examples}
  const U32* examples;  // {images of the batch}: ranks
  float* out;           // {images of the batch, pixels} in the layout
  I64* out_labels;      // {images of the batch}
  U64 seed;             // Of the source `augment`.
  U64 epoch;
  U64 first_position;  // Of the batch's first image in the epoch.
  U32 channels, height, width;
  U32 crop_padding;
  U32 cutout;
  U32 flip;           // 0 or 1, as those below.
  U32 standardise;    // Also of an evaluation.
  U32 channels_last;  // Layout of `out`.
  U32 random;         // 0: an evaluation, without random parts.
  U32 by_position;    // Draws are keyed by position, not by example.
};
static_assert(sizeof(AugmentArguments) == 104, "one layout for all compilers");

// DropoutMask: DropoutDraws::Fill. Any grid, any block of one dimension.
struct DropoutArguments {
  float* mask;  // {count}
  U64 count;
  U64 first_element;
  U64 seed;    // Of the source `dropout`.
  U64 stream;  // StreamOf(layer)
  U64 step;
  U32 threshold;  // floor(probability * 2^32): a word below it is 0.
  float keep;     // float(1 / (1 - probability))
};
static_assert(sizeof(DropoutArguments) == 56, "one layout for all compilers");

// HashElements and HashFinish: the sums of state_hash.h. Any grid; block: a multiple of 32 threads,
// at most 1024. HashFinish has one block.
struct HashArguments {
  const U32* words;   // The tensor's memory.
  U64* partial;       // {blocks of HashElements, 2}
  U64* sums;          // {2}: what HashFinish writes.
  U64 key;            // KeyOf(tensor)
  U64 count;          // Elements.
  U64 sizes[4];       // Of the tensor, first dimension first; 1 where it has fewer.
  U64 strides[4];     // In elements.
  U32 element_words;  // 1 or 2: elements have 4 or 8 bytes.
  U32 blocks;         // Of HashElements' grid.
};
static_assert(sizeof(HashArguments) == 112, "one layout for all compilers");

// NoisySumRows (noisy): out[c] += the values of column c, each by an atomic addition, in the order
// in which threads come. Any grid, any block. The sum of a vector has one column.
struct NoisySumArguments {
  const float* values;  // {rows, columns}
  float* out;           // {columns}, what the sums are added to
  U64 count;            // rows * columns
  U64 columns;
};
static_assert(sizeof(NoisySumArguments) == 32, "one layout for all compilers");

// Dial: DialDraws of worker/trainer/noise/draws.h. Any grid, any block.
struct DialArguments {
  float* values;  // {count}, changed in place
  U64 count;
  U64 seed;
  U64 stream;  // StreamOf(tensor's name)
  U64 step;
  float size;
  U32 reserved;
};
static_assert(sizeof(DialArguments) == 48, "one layout for all compilers");

}  // namespace noisefloor::cuda
