#include "common/files/checksum.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <memory>

#include "common/base/check.h"

namespace noisefloor {

Checksum ChecksumOf(std::span<const std::byte> bytes) {
  static EVP_MAC* const gmac = EVP_MAC_fetch(nullptr, "GMAC", nullptr);
  NF_CHECK(gmac != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(gmac),
                                                                          EVP_MAC_CTX_free);
  NF_CHECK(context != nullptr);
  char cipher[] = "AES-128-GCM";
  std::array<unsigned char, 12> start = {};
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, start.data(), start.size()),
      OSSL_PARAM_construct_end()};
  const std::array<unsigned char, 16> key = {'n', 'o', 'i', 's', 'e', 'f', 'l', 'o', 'o', 'r'};
  NF_CHECK(EVP_MAC_init(context.get(), key.data(), key.size(), parameters) == 1);
  NF_CHECK(EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                          bytes.size()) == 1);
  Checksum checksum;
  size_t size = 0;
  NF_CHECK(EVP_MAC_final(context.get(), checksum.data(), &size, checksum.size()) == 1);
  NF_CHECK(size == checksum.size());
  return checksum;
}

}  // namespace noisefloor
