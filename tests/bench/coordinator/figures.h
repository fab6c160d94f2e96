// What a measurement needs: a clock, quantiles, the use of a process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace noisefloor::bench {

// Of a clock that only rises.
double Seconds();

// Returns at that time of Seconds(), or soon after.
void WaitUntil(double seconds);

// Seconds, or any other unit. One thread.
class Samples {
 public:
  void Reserve(size_t count) { values_.reserve(count); }
  void Add(double value) { values_.push_back(value); }
  void Add(const Samples& other);
  size_t size() const { return values_.size(); }
  // The value that a share `q` of all is not above; 0 of none.
  double Quantile(double q) const;

 private:
  std::vector<double> values_;
};

// User and system time of the process, seconds; 0 when there is none.
double CpuSeconds(pid_t process);
double OwnCpuSeconds();

}  // namespace noisefloor::bench
