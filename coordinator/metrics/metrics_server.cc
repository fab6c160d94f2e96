#include "coordinator/metrics/metrics_server.h"

#include <utility>

#include "fmt/format.h"

#include "httplib.h"
#include "openssl/ssl.h"

namespace noisefloor::metrics {

namespace {

constexpr char kType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kScheme[] = "Bearer ";
// So long may a silent client keep others, and the end, waiting.
constexpr time_t kPatienceSeconds = 2;

std::string TokenOf(const httplib::Request& request) {
  const std::string said = request.get_header_value("Authorization");
  return said.starts_with(kScheme) ? said.substr(sizeof kScheme - 1) : std::string();
}

}  // namespace

MetricsServer::MetricsServer(ServerSettings settings) : settings_(std::move(settings)) {}

absl::Status MetricsServer::Open() {
  if (settings_.key_and_certificate.empty()) {
    server_ = std::make_unique<httplib::Server>();
  } else {
    const char* const pem = settings_.key_and_certificate.c_str();
    auto secure = std::make_unique<httplib::SSLServer>(pem, pem);
    if (!secure->is_valid()) {
      return InvalidInput(fmt::format("{}: cannot be read as key and certificate", pem));
    }
    tls_ = secure->ssl_context();
    server_ = std::move(secure);
  }
  server_->new_task_queue = [] { return new httplib::ThreadPool(1); };
  server_->set_read_timeout(kPatienceSeconds);
  server_->set_write_timeout(kPatienceSeconds);
  server_->set_keep_alive_max_count(1);
  server_->Get("/metrics", [this](const httplib::Request& request, httplib::Response& response) {
    const absl::Status allowed =
        settings_.may_read ? settings_.may_read(TokenOf(request)) : absl::OkStatus();
    if (allowed.ok()) {
      response.set_content(settings_.text(), kType);
    } else {
      response.status = absl::IsUnauthenticated(allowed) ? 401 : 403;
      response.set_content(Message(allowed) + "\n", "text/plain; charset=utf-8");
    }
    ReadCertificateAgain();
  });
  const int port =
      settings_.port == 0
          ? server_->bind_to_any_port(settings_.host)
          : (server_->bind_to_port(settings_.host, settings_.port) ? settings_.port : -1);
  if (port < 0) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("cannot listen on {}:{} for metrics: is another program there?",
                                 settings_.host, settings_.port));
  }
  port_ = static_cast<uint16_t>(port);
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  while (!server_->is_running()) std::this_thread::yield();  // Else Stop might come too early.
  return absl::OkStatus();
}

// On the one thread that also makes the connections: nobody else looks at it.
void MetricsServer::ReadCertificateAgain() {
  if (tls_ == nullptr) return;
  const char* const pem = settings_.key_and_certificate.c_str();
  SSL_CTX* const context = static_cast<SSL_CTX*>(tls_);
  if (SSL_CTX_use_certificate_chain_file(context, pem) == 1) {
    (void)SSL_CTX_use_PrivateKey_file(context, pem, SSL_FILETYPE_PEM);
  }
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(ServerSettings settings) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(std::move(settings)));
  NF_RETURN_IF_ERROR(server->Open());
  return server;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
}

}  // namespace noisefloor::metrics
