#include "common/files/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "common/base/check.h"
#include "common/files/file_error.h"

namespace noisefloor {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  NF_CHECK(context_ != nullptr);
  NF_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::Update(std::span<const std::byte> bytes) {
  NF_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  return *this;
}

Sha256& Sha256::Update(std::string_view text) {
  return Update(std::as_bytes(std::span(text.data(), text.size())));
}

Sha256& Sha256::UpdateU64(uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return Update(bytes);
}

Sha256Digest Sha256::Digest() {
  Sha256Digest digest;
  NF_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  // Without naming the algorithm again OpenSSL keeps the one it has fetched: ten times faster.
  NF_CHECK(EVP_DigestInit_ex(context_.get(), nullptr, nullptr) == 1);
  return digest;
}

std::string Sha256::Hex() { return ToHex(Digest()); }

std::string ToHex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const uint8_t byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::string Sha256Hex(std::string_view text) { return Sha256().Update(text).Hex(); }

absl::StatusOr<std::string> Sha256File(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError(path, "open", errno);
  Sha256 hash;
  std::vector<std::byte> buffer(size_t{1} << 18);
  absl::Status status;
  while (true) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status = FileError(path, "read", errno);
    if (count <= 0) break;
    hash.Update(std::span(buffer.data(), static_cast<size_t>(count)));
  }
  close(file);
  if (!status.ok()) return status;
  return hash.Hex();
}

}  // namespace noisefloor
