#include "coordinator/http/http_server.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "fmt/format.h"

#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/ssl/context.hpp"
#include "coordinator/http/session.h"

namespace noisefloor::http {

namespace {

using asio::ip::tcp;

// Of this process's files, say: what cannot be accepted now is tried again.
constexpr auto kAcceptAgain = std::chrono::milliseconds(100);

}  // namespace

void Asker::OnLeave(std::function<void()> then) {
  {
    const MutexLock lock(mutex_);
    if (!left_) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

void Asker::Leave() {
  std::function<void()> then;
  {
    const MutexLock lock(mutex_);
    left_ = true;
    then = std::exchange(then_, nullptr);
  }
  if (then) then();
}

std::string_view Request::Header(std::string_view name) const {
  const auto found =
      std::ranges::find(headers, name, [](const auto& field) { return field.first; });
  return found == headers.end() ? std::string_view() : found->second;
}

std::string_view Request::BearerToken() const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view said = Header("authorization");
  return said.starts_with(kScheme) ? said.substr(kScheme.size()) : std::string_view();
}

class HttpServer::Impl {
 public:
  explicit Impl(ServerSettings settings) : settings_(std::move(settings)) {}

  ~Impl() {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      Error ignored;
      acceptor_.close(ignored);
      again_.cancel();
      // Each takes itself out of the map.
      const auto open = connections_;
      for (const auto& [connection, owner] : open) connection->Close();
    });
    thread_.join();
  }

  absl::Status Open() {
    if (!settings_.key_and_certificate.empty() && !ReadCertificate()) {
      return InvalidInput(
          fmt::format("{}: cannot be read as key and certificate", settings_.key_and_certificate));
    }
    Error error;
    const auto found = tcp::resolver(io_).resolve(settings_.host, std::to_string(settings_.port),
                                                  tcp::resolver::passive, error);
    if (!error && found.empty()) error = asio::error::host_not_found;
    if (!error) Listen(found.begin()->endpoint(), error);
    if (error) {
      return MakeError(absl::StatusCode::kUnavailable,
                       fmt::format("cannot listen on {}:{}: {}", settings_.host, settings_.port,
                                   error.message()));
    }
    port_ = acceptor_.local_endpoint(error).port();
    Accept();
    thread_ = std::thread([this] { io_.run(); });
    return absl::OkStatus();
  }

  uint16_t port() const { return port_; }

 private:
  void Listen(const tcp::endpoint& endpoint, Error& error) {
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }

  // Whether there is one now; else the one before stays.
  bool ReadCertificate() {
    const std::string& pem = settings_.key_and_certificate;
    asio::ssl::context read(asio::ssl::context::tls_server);
    Error error;
    read.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                         asio::ssl::context::no_sslv3,
                     error);
    if (!error) read.use_certificate_chain_file(pem, error);
    if (!error) read.use_private_key_file(pem, asio::ssl::context::pem, error);
    if (!error) tls_.emplace(std::move(read));
    return !error;
  }

  void Accept() {
    acceptor_.async_accept([this](Error error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {
        again_.expires_after(kAcceptAgain);
        again_.async_wait([this](Error stopped) {
          if (!stopped) Accept();
        });
        return;
      }
      if (connections_.size() < settings_.most_connections) Serve(std::move(socket));
      Accept();
    });
  }

  void Serve(tcp::socket socket) {
    if (!tls_) return Begin(Plain(std::move(socket)));
    (void)ReadCertificate();
    Begin(Tls(beast::tcp_stream(std::move(socket)), *tls_));
  }
  template <typename Stream>
  void Begin(Stream stream) {
    const auto session = std::make_shared<Session<Stream>>(
        std::move(stream), io_, settings_, [this](Connection* one) { connections_.erase(one); });
    connections_.emplace(session.get(), session);
    session->Open();
  }

  const ServerSettings settings_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer again_{io_};
  std::optional<asio::ssl::context> tls_;  // Nothing: plain HTTP.
  // shared: with what each of them waits for.
  std::map<Connection*, std::shared_ptr<Connection>> connections_;
  uint16_t port_ = 0;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(ServerSettings settings) {
  auto impl = std::make_unique<Impl>(std::move(settings));
  NF_RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return impl_->port(); }

}  // namespace noisefloor::http
