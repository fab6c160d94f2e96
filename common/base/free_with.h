// What a C library gave is given back by the library's own function.
#pragma once

namespace noisefloor {

// A deleter for std::unique_ptr: `std::unique_ptr<BIO, FreeWith<BIO_free_all>>`.
template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};

}  // namespace noisefloor
