// SHA-256 of bytes that arrive in pieces, and of files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/files/file_system.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX.

namespace noisefloor {

using Sha256Digest = std::array<uint8_t, 32>;

// Move-only; one thread at a time. Cannot fail: a failing OpenSSL is a bug and stops the program.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& Update(std::span<const std::byte> bytes);
  Sha256& Update(std::string_view text);
  Sha256& UpdateU64(uint64_t value);  // Eight bytes, little endian.

  // The hash of what came since the last Digest or Hex; then begins anew.
  Sha256Digest Digest();
  std::string Hex();  // 64 lower-case hexadecimal digits.

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string ToHex(const Sha256Digest& digest);
std::string Sha256Hex(std::string_view text);

// Of a file's content, read in pieces.
absl::StatusOr<std::string> Sha256File(const std::string& path,
                                       FileSystem& files = LocalFileSystem());

}  // namespace noisefloor
