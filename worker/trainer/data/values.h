// Numbers that lie in memory of our own or in a mapped file; who reads them need not know.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace noisefloor::trainer {

// Never changed once made; copies are cheap. Any thread may read.
template <typename T>
class Values {
 public:
  Values() = default;
  Values(std::vector<T> own) {  // NOLINT(google-explicit-constructor): a vector is values.
    // shared: copies look at the same numbers.
    const auto kept = std::make_shared<const std::vector<T>>(std::move(own));
    view_ = *kept;
    holder_ = kept;
  }
  Values(std::initializer_list<T> own) : Values(std::vector<T>(own)) {}
  // shared: the numbers are there as long as `holder` is, and several parts of a file have one.
  Values(std::span<const T> view, std::shared_ptr<const void> holder)
      : view_(view), holder_(std::move(holder)) {}

  size_t size() const { return view_.size(); }
  const T* data() const { return view_.data(); }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  const T& operator[](size_t i) const { return view_[i]; }

  friend bool operator==(const Values& a, const Values& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::span<const T> view_;
  std::shared_ptr<const void> holder_;  // shared: see above.
};

}  // namespace noisefloor::trainer
