#include "common/rpc/greeting.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "fmt/format.h"

#include "common/base/free_with.h"
#include "common/rpc/proxy.h"

namespace noisefloor {

namespace {

constexpr int kConnectMs = 1000;
constexpr int kAnswerSeconds = 2;

using TlsSettings = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, FreeWith<SSL_free>>;
using Bio = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using Authority = std::unique_ptr<X509, FreeWith<X509_free>>;

// A socket, closed at the end; -1: none.
class Socket {
 public:
  explicit Socket(int file) : file_(file) {}
  ~Socket() {
    if (file_ >= 0) close(file_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int file() const { return file_; }

 private:
  const int file_;
};

bool Connects(int file, const addrinfo& to) {
  if (connect(file, to.ai_addr, to.ai_addrlen) == 0) return true;
  pollfd wait = {file, POLLOUT, 0};
  if (errno != EINPROGRESS || poll(&wait, 1, kConnectMs) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// Connected to the first of the address's that takes it; afterwards reads and writes wait, though
// not for ever.
int ConnectTo(const Address& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
  int file = -1;
  for (const addrinfo* to = found; to != nullptr && file < 0; to = to->ai_next) {
    file = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0 || Connects(file, *to)) continue;
    close(file);
    file = -1;
  }
  freeaddrinfo(found);
  return file;
}

enum class Answer { kNone, kPlain, kTls };

// Whether the other side shakes hands. Reads wait by poll: the socket does not.
Answer ShakeHands(SSL* session, int file) {
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(session);
    if (done == 1) return Answer::kTls;
    const int error = SSL_get_error(session, done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      pollfd wait = {file, static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
      if (poll(&wait, 1, kAnswerSeconds * 1000) != 1) return Answer::kNone;
      continue;
    }
    if (error != SSL_ERROR_SSL) return Answer::kNone;
    // What is no record of TLS is somebody's plain text; an alert is TLS.
    const int reason = ERR_GET_REASON(ERR_peek_error());
    const bool no_record = reason == SSL_R_WRONG_VERSION_NUMBER ||
                           reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
                           reason == SSL_R_BAD_RECORD_TYPE || reason == SSL_R_UNEXPECTED_MESSAGE;
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return Answer::kNone;
    return no_record ? Answer::kPlain : Answer::kTls;
  }
}

// The certificate is judged afterwards: first we want to see it.
bool Expect(SSL_CTX* settings, SSL* session, const Address& address, const std::string& authority) {
  const Bio bio(BIO_new_mem_buf(authority.data(), static_cast<int>(authority.size())));
  const Authority trusted(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!trusted || X509_STORE_add_cert(SSL_CTX_get_cert_store(settings), trusted.get()) != 1) {
    return false;
  }
  X509_VERIFY_PARAM* wish = SSL_get0_param(session);
  return X509_VERIFY_PARAM_set1_ip_asc(wish, address.host.c_str()) == 1 ||
         X509_VERIFY_PARAM_set1_host(wish, address.host.data(), address.host.size()) == 1;
}

std::string Fault(SSL* session, const Address& address) {
  const long fault = SSL_get_verify_result(session);
  if (fault == X509_V_OK) return "";
  std::string why = X509_verify_cert_error_string(fault);
  if (fault == X509_V_ERR_HOSTNAME_MISMATCH || fault == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    why = "it does not hold for that name; `noisefloor access renew --name=" + address.host +
          "` on its machine adds it";
  } else if (fault == X509_V_ERR_CERT_HAS_EXPIRED) {
    why = "it has expired; `noisefloor access renew` on its machine makes another";
  } else {
    why += ": it is not of the authority in the access file";
  }
  return fmt::format("the certificate of the server at {} is not trusted: {}", ToText(address),
                     why);
}

}  // namespace

std::string WhyNotUnderstood(const Address& address, const std::string& authority) {
  const Proxy proxy = ProxyTo(address, ProxyVariablesOfThisProcess());
  const Socket socket(ConnectTo(proxy.is_used ? proxy.address : address));
  if (socket.file() < 0) return "";
  if (proxy.is_used) {
    const absl::Status tunnel = OpenTunnel(socket.file(), proxy, address);
    if (tunnel.code() == absl::StatusCode::kPermissionDenied) return Message(tunnel);
    if (!tunnel.ok()) return "";
  }
  const TlsSettings settings(SSL_CTX_new(TLS_client_method()));
  const Session session(settings ? SSL_new(settings.get()) : nullptr);
  if (!session || SSL_set_fd(session.get(), socket.file()) != 1) return "";
  const bool secure = !authority.empty();
  if (secure && !Expect(settings.get(), session.get(), address, authority)) {
    return "the access file holds no certificate that can be read";
  }
  (void)SSL_set_tlsext_host_name(session.get(), address.host.c_str());
  switch (ShakeHands(session.get(), socket.file())) {
    case Answer::kNone: return "";
    case Answer::kPlain:
      return !secure ? ""
                     : fmt::format(
                           "the server at {} speaks no TLS: it is not the coordinator of "
                           "the access file, or serves without access",
                           ToText(address));
    case Answer::kTls: break;
  }
  if (secure) return Fault(session.get(), address);
  return fmt::format(
      "the server at {} wants TLS and a token: expected an access file that names "
      "it, in $NOISEFLOOR_ACCESS or ~/.config/noisefloor/access",
      ToText(address));
}

}  // namespace noisefloor
