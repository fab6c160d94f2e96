// The authority, what it signs, and the folder that holds them.
#include "coordinator/certificates/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/certificates/access_folder.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

X509* Read(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return certificate;
}

// What OpenSSL thinks of a server that is reached by `host` at `now`.
std::string Verdict(const std::string& authority, const std::string& server,
                    const std::string& host, absl::Time now) {
  X509* const trusted = Read(authority);
  X509* const judged = Read(server);
  X509_STORE* const store = X509_STORE_new();
  X509_STORE_add_cert(store, trusted);
  X509_STORE_CTX* const context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, judged, nullptr);
  X509_VERIFY_PARAM* const wish = X509_STORE_CTX_get0_param(context);
  if (X509_VERIFY_PARAM_set1_ip_asc(wish, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(wish, host.data(), host.size());
  }
  X509_VERIFY_PARAM_set_time(wish, absl::ToTimeT(now));
  X509_VERIFY_PARAM_set_purpose(wish, X509_PURPOSE_SSL_SERVER);
  const bool good = X509_verify_cert(context) == 1;
  std::string verdict =
      good ? "good" : X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  X509_free(judged);
  X509_free(trusted);
  return verdict;
}

TEST(CertificateTest, HoldsForItsNamesAndForItsTime) {
  const Certificate authority = MakeAuthority("noisefloor box", kNow).value();
  const std::vector<std::string> names = {"box", "10.0.0.7", "::1"};
  const Certificate server = MakeServerCertificate(authority, names, kNow).value();
  const auto verdict = [&](const std::string& host, absl::Time now) {
    return Verdict(authority.certificate, server.certificate, host, now);
  };

  for (const std::string& name : names) EXPECT_EQ(verdict(name, kNow), "good") << name;
  EXPECT_EQ(verdict("box", kNow - absl::Hours(12)), "good") << "a clock that is slow";
  EXPECT_EQ(verdict("box", kNow + kServerLife - absl::Minutes(1)), "good");
  EXPECT_EQ(verdict("box", kNow + kServerLife + absl::Minutes(1)), "certificate has expired");
  EXPECT_EQ(verdict("box2", kNow), "hostname mismatch");
  EXPECT_EQ(verdict("10.0.0.8", kNow), "IP address mismatch");
  const Certificate stranger = MakeAuthority("noisefloor box", kNow).value();
  EXPECT_NE(Verdict(stranger.certificate, server.certificate, "box", kNow), "good");
  const CertificateFacts facts = ReadCertificate(server.key + server.certificate).value();
  EXPECT_THAT(facts.names, ElementsAre("box", "10.0.0.7", "::1"));
  EXPECT_EQ(facts.expires, kNow + kServerLife);
}

TEST(CertificateTest, AServersCertificateSignsNothing) {
  const Certificate authority = MakeAuthority("noisefloor box", kNow).value();
  const Certificate server =
      MakeServerCertificate(authority, std::vector<std::string>{"box"}, kNow).value();
  X509* const signs = Read(authority.certificate);
  X509* const serves = Read(server.certificate);
  EXPECT_EQ(X509_check_ca(signs), 1);
  EXPECT_EQ(X509_check_ca(serves), 0);
  EXPECT_EQ(X509_get_extension_flags(serves) & EXFLAG_CA, 0u) << "it is not even said to";
  EXPECT_EQ(X509_get_pathlen(signs), 0) << "nor does another authority sign for it";
  EXPECT_EQ(X509_check_purpose(serves, X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(serves, X509_PURPOSE_SSL_CLIENT, 0), 0);
  X509_free(serves);
  X509_free(signs);
}

TEST(CertificateTest, ANameThatIsNoneIsRefused) {
  const Certificate authority = MakeAuthority("noisefloor box", kNow).value();
  for (const std::string name : {"", "box,DNS:bank", "*.box", "a b", ".box", "1:2:3"}) {
    const absl::Status status =
        MakeServerCertificate(authority, std::vector<std::string>{"box", name}, kNow).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(Message(status), HasSubstr("expected a host name or an address"));
  }
  EXPECT_EQ(MakeServerCertificate(authority, {}, kNow).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeServerCertificate({"x", "y"}, std::vector<std::string>{"box"}, kNow).status(),
            InvalidInput("the authority's certificate or key is damaged"));
}

TEST(CertificateTest, ChanceDoesNotRepeat) {
  EXPECT_EQ(RandomBytes32().size(), 32u);
  EXPECT_NE(RandomBytes32(), RandomBytes32());
}

TEST(AccessFolder, IsMadeWholeAndForItsOwnerOnly) {
  const TempHome home;
  EXPECT_FALSE(AccessIsSetUp(home.path()));
  EXPECT_EQ(ReadAccess(home.path()).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(SetUpAccess(home.path(), "box:7077", {"box.example.org"}, kNow).ok());

  EXPECT_TRUE(AccessIsSetUp(home.path()));
  struct stat about {};
  ASSERT_EQ(stat((home.path() + "/access").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  for (const std::string name : {"ca.pem", "ca.key", "server.pem", "address"}) {
    ASSERT_EQ(stat((home.path() + "/access/" + name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_mode & 0777, 0600u) << name;
  }
  const KeptAccess kept = ReadAccess(home.path()).value();
  EXPECT_EQ(kept.coordinator, "box:7077");
  const std::string server = ReadFile(ServerPemPath(home.path()), 1 << 16).value();
  EXPECT_EQ(Verdict(kept.certificate, server, "localhost", kNow), "good");
  EXPECT_EQ(Verdict(kept.certificate, server, "box.example.org", kNow), "good");
}

TEST(AccessFolder, IsNotMadeTwice) {
  const TempHome home;
  ASSERT_TRUE(SetUpAccess(home.path(), "box:7077", {}, kNow).ok());
  const absl::Status again = SetUpAccess(home.path(), "box:7077", {}, kNow);
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(again), HasSubstr("access renew"));
}

TEST(AccessFolder, NothingIsLeftOfWhatIsRefused) {
  const TempHome home;
  EXPECT_FALSE(SetUpAccess(home.path(), "box", {}, kNow).ok());
  EXPECT_FALSE(SetUpAccess(home.path(), "box:0", {}, kNow).ok());
  EXPECT_FALSE(SetUpAccess(home.path(), "box:7077", {"no name"}, kNow).ok());
  EXPECT_TRUE(std::filesystem::is_empty(home.path()));
}

TEST(AccessFolder, TheOwnerIsToldAnAddressThatTheCertificateHoldsFor) {
  const KeptAccess kept = {"box:7077", ""};
  const std::vector<std::string> names = {"box", "localhost", "127.0.0.1", "::1"};
  const auto own = [&](const Address& bound) { return ToText(OwnerAddress(bound, names, kept)); };

  EXPECT_EQ(own({"127.0.0.1", 7077}), "127.0.0.1:7077");
  EXPECT_EQ(own({"0.0.0.0", 9000}), "127.0.0.1:9000");
  EXPECT_EQ(own({"::", 9000}), "[::1]:9000");
  EXPECT_EQ(own({"box", 7077}), "box:7077");
  EXPECT_EQ(own({"10.0.0.5", 9000}), "box:9000") << "nobody is bound to loopback";
}

TEST(AccessFolder, AccessFilesThatLeadNowhereAreNamed) {
  const KeptAccess kept = {"box:7077", ""};
  EXPECT_EQ(WhyNotFound({"0.0.0.0", 7077}, kept), "");
  EXPECT_EQ(WhyNotFound({"10.0.0.5", 7077}, kept), "");
  EXPECT_EQ(WhyNotFound({"127.0.0.1", 7077}, {"127.0.0.1:7077", ""}), "");
  EXPECT_EQ(WhyNotFound({"0.0.0.0", 9000}, kept),
            "access files name box:7077, and it listens on port 9000");
  EXPECT_EQ(WhyNotFound({"127.0.0.1", 7077}, kept),
            "access files name box:7077, and it listens on loopback alone");
}

TEST(AccessFolder, RenewingKeepsNamesAndAuthority) {
  const TempHome home;
  EXPECT_EQ(RenewServerCertificate(home.path(), {}, kNow).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(SetUpAccess(home.path(), "box:7077", {}, kNow).ok());
  const std::string before = ReadFile(ServerPemPath(home.path()), 1 << 16).value();
  const absl::Time later = kNow + absl::Hours(1000);

  const auto facts = RenewServerCertificate(home.path(), {"nas", "box"}, later);

  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(facts->names, ElementsAre("box", "localhost", "127.0.0.1", "::1", "nas"));
  EXPECT_EQ(facts->expires, later + kServerLife);
  const std::string after = ReadFile(ServerPemPath(home.path()), 1 << 16).value();
  EXPECT_NE(after, before);
  const std::string authority = ReadAccess(home.path())->certificate;
  EXPECT_EQ(Verdict(authority, after, "nas", later), "good");
  EXPECT_EQ(Verdict(authority, before, "box", later), "good") << "open connections live on";
}

TEST(AccessFolder, GoesToAnotherMachine) {
  const TempHome home;
  EXPECT_TRUE(absl::IsNotFound(LetCertificateHold(home.path(), "nas", kNow)));
  ASSERT_TRUE(SetUpAccess(home.path(), "box:7077", {}, kNow).ok());
  const std::string before = ReadFile(ServerPemPath(home.path()), 1 << 16).value();

  ASSERT_TRUE(LetCertificateHold(home.path(), "box", kNow).ok());
  EXPECT_EQ(ReadFile(ServerPemPath(home.path()), 1 << 16).value(), before) << "it holds already";
  ASSERT_TRUE(LetCertificateHold(home.path(), "nas", kNow).ok());
  ASSERT_TRUE(KeepAddress(home.path(), "nas:4000").ok());

  const std::string after = ReadFile(ServerPemPath(home.path()), 1 << 16).value();
  EXPECT_EQ(Verdict(ReadAccess(home.path())->certificate, after, "nas", kNow), "good");
  EXPECT_EQ(ReadAccess(home.path())->coordinator, "nas:4000");
  EXPECT_FALSE(KeepAddress(home.path(), "nas").ok());
  // Its key is kept elsewhere.
  ASSERT_TRUE(RemoveFile(home.path() + "/access/ca.key").ok());
  EXPECT_TRUE(LetCertificateHold(home.path(), "nas", kNow).ok());
  EXPECT_THAT(Message(LetCertificateHold(home.path(), "other", kNow)), HasSubstr("ca.key"));
}

}  // namespace
}  // namespace noisefloor
