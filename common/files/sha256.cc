#include "common/files/sha256.h"

#include <openssl/evp.h>

#include <vector>

#include "common/base/check.h"

namespace noisefloor {

namespace {

// Asked for by name once: to look it up for each hash takes as long as to hash a kilobyte.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  NF_CHECK(algorithm != nullptr);
  return algorithm;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  NF_CHECK(context_ != nullptr);
  NF_CHECK(EVP_DigestInit_ex(context_.get(), Algorithm(), nullptr) == 1);
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

absl::StatusOr<std::string> Sha256File(const std::string& path, FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.OpenToRead(path));
  Sha256 hash;
  std::vector<char> buffer(size_t{1} << 18);
  while (true) {
    NF_ASSIGN_OR_RETURN(const size_t count, file->Read(buffer));
    hash.Update(std::string_view(buffer.data(), count));
    if (count < buffer.size()) return hash.Hex();
  }
}

}  // namespace noisefloor
