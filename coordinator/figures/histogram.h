// Counts of how large something was, kept by whoever sees it and read by whoever asks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>

namespace noisefloor::figures {

// Thread-safe without locks: observing costs two additions. What is read meanwhile may lack what is
// being observed.
class Histogram {
 public:
  static constexpr size_t kMostBounds = 16;

  // Upper bounds of the buckets, rising, at most kMostBounds; above the last is one more.
  Histogram(std::initializer_list<double> bounds) {
    for (const double bound : bounds) bounds_[size_++] = bound;
  }

  // `value` is not negative.
  void Observe(double value) {
    size_t bucket = 0;
    while (bucket < size_ && value > bounds_[bucket]) ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  size_t size() const { return size_; }  // Buckets but the last.
  double bound(size_t bucket) const { return bounds_[bucket]; }
  uint64_t count(size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<double, kMostBounds> bounds_{};
  size_t size_ = 0;
  std::array<std::atomic<uint64_t>, kMostBounds + 1> counts_{};
  std::atomic<double> sum_{0};
};

// Seconds, from what a disk in memory takes to what nobody waits for.
inline constexpr std::initializer_list<double> kSecondBounds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
// Of the loop's work: 0.02 is the most that a piece may take.
inline constexpr std::initializer_list<double> kPieceBounds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1};
// Things at once.
inline constexpr std::initializer_list<double> kCountBounds = {1,   3,    10,   30,   100,
                                                               300, 1000, 3000, 10000};

}  // namespace noisefloor::figures
