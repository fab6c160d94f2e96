#include "coordinator/certificates/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "fmt/format.h"

#include "common/base/check.h"
#include "common/base/free_with.h"

namespace noisefloor {

namespace {

// Clocks of machines differ.
constexpr absl::Duration kSkew = absl::Hours(24);
constexpr size_t kMostNames = 100;
constexpr size_t kMostNameBytes = 253;

using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using X509Pointer = std::unique_ptr<X509, FreeWith<X509_free>>;
using Bio = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

absl::Status Failure(std::string_view what) {
  std::array<char, 256> text = {};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return MakeError(absl::StatusCode::kInternal,
                   fmt::format("{}: OpenSSL says {}", what, text.data()));
}

Bio Reader(std::string_view pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(std::max(size, 0L)));
}

bool IsIp(const std::string& name) {
  std::array<unsigned char, 16> bytes;
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

absl::Status CheckName(const std::string& name) {
  const bool host =
      !name.empty() && name.size() <= kMostNameBytes && name.front() != '.' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
          std::string::npos;
  if (host || IsIp(name)) return absl::OkStatus();
  return InvalidInput(fmt::format("'{}': expected a host name or an address", name.substr(0, 100)));
}

// "DNS:box,IP:10.0.0.1". Names are checked: none can hold a comma.
std::string AlternativeNames(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", IsIp(name) ? "IP" : "DNS", name);
  }
  return text;
}

bool SetSerial(X509* certificate) {
  const Number number(BN_new());
  return number && BN_rand(number.get(), 159, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetTimes(X509* certificate, absl::Time now, absl::Duration life) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(now - kSkew)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(now + life)) != nullptr;
}

bool SetSubject(X509* certificate, std::string_view name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

absl::StatusOr<Certificate> ToPem(X509* certificate, EVP_PKEY* key) {
  const Bio first(BIO_new(BIO_s_mem()));
  const Bio second(BIO_new(BIO_s_mem()));
  if (!first || !second || PEM_write_bio_X509(first.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return Failure("writing a certificate");
  }
  return Certificate{TextOf(first.get()), TextOf(second.get())};
}

struct Signer {
  X509* certificate = nullptr;  // Null: the certificate signs itself.
  EVP_PKEY* key = nullptr;
};

// Sets what all have in common.
absl::StatusOr<X509Pointer> Begin(std::string_view name, EVP_PKEY* key, absl::Time now,
                                  absl::Duration life) {
  X509Pointer certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), 2) != 1 ||
      !SetSerial(certificate.get()) || !SetTimes(certificate.get(), now, life) ||
      !SetSubject(certificate.get(), name) || X509_set_pubkey(certificate.get(), key) != 1) {
    return Failure("making a certificate");
  }
  return certificate;
}

absl::Status Sign(X509* certificate, const Signer& signer,
                  std::span<const std::pair<int, std::string>> extensions) {
  X509* const issuer = signer.certificate != nullptr ? signer.certificate : certificate;
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1) {
    return Failure("naming the authority");
  }
  for (const auto& [kind, value] : extensions) {
    if (!AddExtension(certificate, issuer, kind, value)) return Failure("describing a certificate");
  }
  if (X509_sign(certificate, signer.key, EVP_sha256()) == 0) return Failure("signing");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Certificate> MakeAuthority(std::string_view name, absl::Time now) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return Failure("making a key");
  NF_ASSIGN_OR_RETURN(const X509Pointer made, Begin(name, key.get(), now, kAuthorityLife));
  const std::array<std::pair<int, std::string>, 3> extensions = {
      std::pair<int, std::string>{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_key_usage, "critical,keyCertSign,cRLSign"},
      {NID_subject_key_identifier, "hash"}};
  NF_RETURN_IF_ERROR(Sign(made.get(), {nullptr, key.get()}, extensions));
  return ToPem(made.get(), key.get());
}

absl::StatusOr<Certificate> MakeServerCertificate(const Certificate& authority,
                                                  std::span<const std::string> names,
                                                  absl::Time now) {
  if (names.empty() || names.size() > kMostNames) {
    return InvalidInput(fmt::format("expected 1 to {} names, got {}", kMostNames, names.size()));
  }
  for (const std::string& name : names) NF_RETURN_IF_ERROR(CheckName(name));
  const X509Pointer signer(
      PEM_read_bio_X509(Reader(authority.certificate).get(), nullptr, nullptr, nullptr));
  const Key signer_key(
      PEM_read_bio_PrivateKey(Reader(authority.key).get(), nullptr, nullptr, nullptr));
  if (!signer || !signer_key) return InvalidInput("the authority's certificate or key is damaged");
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return Failure("making a key");
  NF_ASSIGN_OR_RETURN(const X509Pointer made, Begin("noisefloor", key.get(), now, kServerLife));
  const std::array<std::pair<int, std::string>, 5> extensions = {
      std::pair<int, std::string>{NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, "serverAuth"},
      {NID_authority_key_identifier, "keyid"},
      {NID_subject_alt_name, AlternativeNames(names)}};
  NF_RETURN_IF_ERROR(Sign(made.get(), {signer.get(), signer_key.get()}, extensions));
  return ToPem(made.get(), key.get());
}

namespace {

std::string AddressIn(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  const bool fits = family == AF_INET || ASN1_STRING_length(bytes) == 16;
  const char* written = fits ? inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(),
                                         static_cast<socklen_t>(text.size()))
                             : nullptr;
  return written == nullptr ? "" : written;
}

std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> texts;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_IPADD) {
      texts.push_back(AddressIn(name->d.iPAddress));
    } else if (name->type == GEN_DNS) {
      const ASN1_IA5STRING* host = name->d.dNSName;
      texts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(host)),
                         static_cast<size_t>(ASN1_STRING_length(host)));
    }
  }
  return texts;
}

}  // namespace

absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem) {
  const X509Pointer certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, nullptr, nullptr));
  std::tm expires = {};
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &expires) != 1) {
    ERR_clear_error();
    return InvalidInput("expected a certificate (PEM)");
  }
  return CertificateFacts{NamesOf(certificate.get()), absl::FromTimeT(timegm(&expires))};
}

std::string RandomBytes32() {
  std::string bytes(32, '\0');
  NF_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), 32) == 1);
  return bytes;
}

}  // namespace noisefloor
