// One connection: a request, its answer, the next request. Of http_server.cc alone.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"

#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/http.hpp"
#include "coordinator/http/connection.h"
#include "coordinator/http/http_server.h"
#include "coordinator/http/target.h"

namespace noisefloor::http {

// Kept alive by what it waits for. On the server's thread, all of it.
template <typename Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  using Closed = std::function<void(Connection* which)>;
  // `settings` and `io` outlive it; `closed` is called once.
  Session(Stream stream, asio::io_context& io, const ServerSettings& settings, Closed closed)
      : stream_(std::move(stream)),
        io_(io),
        settings_(settings),
        closed_(std::move(closed)),
        idle_(io) {}

  void Open() {
    if constexpr (kTls) {
      Patience();
      stream_.async_handshake(
          asio::ssl::stream_base::server,
          [self = this->shared_from_this()](Error error) { error ? self->Close() : self->Read(); });
    } else {
      Read();
    }
  }

  void Close() override {
    if (ended_) return;
    ended_ = true;
    idle_.cancel();
    if (asker_) asker_->Leave();
    if (pieces_) pieces_->Cancel();
    Tcp().close();
    closed_(this);
  }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, Tls>;
  using Head = beast::http::response<beast::http::empty_body>;
  using Whole = beast::http::response<beast::http::string_body>;
  // The session goes before what keeps the server's thread: its sockets are of that.
  struct Alive {
    asio::executor_work_guard<asio::io_context::executor_type> guard;
    std::shared_ptr<Session> session;  // shared: it lives as long as somebody is to answer.
  };

  beast::tcp_stream& Tcp() { return beast::get_lowest_layer(stream_); }
  void Patience() { Tcp().expires_after(absl::ToChronoSeconds(settings_.patience)); }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    // None is read: however large one is said to be, it is no mistake of the head.
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    is_head_ = false;
    chunked_ = true;
    Patience();
    beast::http::async_read_header(stream_, buffer_, *parser_,
                                   [self = this->shared_from_this()](Error error, size_t) {
                                     if (!error) return self->Ask();
                                     if (error == beast::http::error::header_limit)
                                       return self->Refuse(431);
                                     IsMalformed(error) ? self->Refuse(400) : self->Close();
                                   });
  }

  void Ask() {
    const auto& head = parser_->get();
    keep_alive_ = head.keep_alive();
    is_head_ = head.method() == beast::http::verb::head;
    chunked_ = head.version() >= 11;
    if (!is_head_ && head.method() != beast::http::verb::get) return Refuse(405);
    if (!parser_->is_done()) return Refuse(413);  // A body, of which nothing is read.
    std::optional<Target> target =
        ParseTarget(std::string_view(head.target().data(), head.target().size()));
    if (!target) return Refuse(400);
    asker_ = std::make_shared<Asker>();
    Request request{std::move(target->path), std::move(target->query), {}, kTls, asker_};
    for (const auto& field : head) {
      request.headers.emplace_back(
          absl::AsciiStrToLower({field.name_string().data(), field.name_string().size()}),
          std::string(field.value()));
    }
    settings_.handler(std::move(request), OnMyThread<Answer>([](Session& self, Answer answer) {
                        self.Reply(std::move(answer));
                      }));
  }

  // Of a stream that idles. Who reads one says nothing more, so that a byte, or the end, is news:
  // over TLS it is the end either way; else bytes may be the next request, which is not looked at
  // yet. Of other answers the end says little: a client may have said all that it will.
  void WatchForTheEnd() {
    if (watched_ || ended_) return;
    watched_ = true;
    Tcp().socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = this->shared_from_this(), of = asker_](Error error) {
                                self->watched_ = false;
                                if (self->ended_ || error || !self->asker_) return;
                                // Of a request before: it was this one's bytes.
                                if (self->asker_ != of) return self->WatchForTheEnd();
                                if (kTls || HasEnd(self->Tcp().socket())) self->Close();
                              });
  }

  // Of what others call, from any thread: the session and the server's thread live until then.
  template <typename T, typename Do>
  std::function<void(T)> OnMyThread(Do then) {
    return [alive = Alive{asio::make_work_guard(io_), this->shared_from_this()},
            then](T value) mutable {
      asio::post(alive.session->io_,
                 [self = alive.session, then, value = std::move(value)]() mutable {
                   then(*self, std::move(value));
                 });
    };
  }

  void Refuse(int status) {
    keep_alive_ = false;
    Answer answer{.status = status};
    answer.body =
        std::string(beast::http::obsolete_reason(static_cast<beast::http::status>(status))) + "\n";
    if (status == 405) answer.headers = {{"Allow", "GET, HEAD"}};
    Reply(std::move(answer));
  }

  template <typename Message>
  void Fill(Message& message, const Answer& answer) {
    message.version(chunked_ ? 11 : 10);
    message.result(static_cast<unsigned>(answer.status));
    message.keep_alive(keep_alive_);
    message.set("Content-Type", answer.type);
    message.set("Cache-Control", "no-store");
    message.set("X-Content-Type-Options", "nosniff");
    message.set("Referrer-Policy", "no-referrer");
    for (const auto& [name, value] : answer.headers) message.set(name, value);
  }

  void Reply(Answer answer) {
    pieces_ = std::move(answer.pieces);
    idle_text_ = std::move(answer.idle);
    if (ended_) {
      if (pieces_) pieces_->Cancel();
      return;
    }
    if (!pieces_ && !is_head_) {
      whole_.emplace();
      Fill(*whole_, answer);
      whole_->body() = std::move(answer.body);
      whole_->prepare_payload();
      Patience();
      return beast::http::async_write(stream_, *whole_, Written(&Session::NextRequest));
    }
    if (pieces_ && !chunked_)
      keep_alive_ = false;  // The end of the connection is that of the body.
    head_.emplace();
    Fill(*head_, answer);
    if (!pieces_) head_->content_length(answer.body.size());
    if (pieces_) head_->chunked(chunked_);
    serializer_.emplace(*head_);
    if (is_head_ && pieces_) pieces_->Cancel();
    Patience();
    beast::http::async_write_header(
        stream_, *serializer_, Written(is_head_ ? &Session::NextRequest : &Session::WaitForPiece));
  }

  auto Written(void (Session::*next)()) {
    return [self = this->shared_from_this(), next](Error error, size_t) {
      // What was written before a close was written all the same.
      error || self->ended_ ? self->Close() : (self.get()->*next)();
    };
  }

  void WaitForPiece() {
    piece_.reset();
    pieces_->Next(OnMyThread<absl::StatusOr<std::string>>(
        [](Session& self, absl::StatusOr<std::string> piece) {
          self.piece_ = std::move(piece);
          self.idle_.cancel();
          if (!self.writing_idle_ && !self.ended_) self.WritePiece();
        }));
    WaitIdly();
  }

  void WaitIdly() {
    if (idle_text_.empty()) return;
    WatchForTheEnd();
    idle_.expires_after(absl::ToChronoMilliseconds(settings_.idle));
    idle_.async_wait([self = this->shared_from_this()](Error error) {
      if (error || self->ended_ || self->piece_) return;
      self->writing_idle_ = true;
      self->WriteChunk(self->idle_text_, &Session::IdleWritten);
    });
  }

  void IdleWritten() {
    writing_idle_ = false;
    piece_ ? WritePiece() : WaitIdly();
  }

  void WritePiece() {
    if (!piece_->ok()) return Close();
    if (!(*piece_)->empty()) return WriteChunk(**piece_, &Session::WaitForPiece);
    pieces_.reset();
    if (!chunked_) return NextRequest();
    Patience();
    asio::async_write(stream_, beast::http::make_chunk_last(), Written(&Session::NextRequest));
  }

  // `text` lives until it is written.
  void WriteChunk(const std::string& text, void (Session::*next)()) {
    Patience();
    const asio::const_buffer bytes(text.data(), text.size());
    if (chunked_) {
      asio::async_write(stream_, beast::http::make_chunk(bytes), Written(next));
    } else {
      asio::async_write(stream_, bytes, Written(next));
    }
  }

  void NextRequest() {
    pieces_.reset();
    asker_.reset();
    if (keep_alive_) return Read();
    if constexpr (kTls) {
      Patience();
      stream_.async_shutdown([self = this->shared_from_this()](Error) { self->Linger(); });
    } else {
      Linger();
    }
  }

  void Linger() {
    Error ignored;
    Tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    Patience();
    Drain();
  }

  // A close with bytes unread would reset the connection, and the answer with it.
  void Drain() {
    if (++drained_ > kMostDrained) return Close();
    Tcp().async_read_some(asio::buffer(scratch_),
                          [self = this->shared_from_this()](Error error, size_t) {
                            error ? self->Close() : self->Drain();
                          });
  }

  Stream stream_;
  asio::io_context& io_;
  const ServerSettings& settings_;
  const Closed closed_;
  asio::steady_timer idle_;
  beast::flat_buffer buffer_{kMostHeaderBytes + 4096};
  std::optional<beast::http::request_parser<beast::http::empty_body>> parser_;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool chunked_ = true;  // HTTP/1.1.
  bool ended_ = false;
  std::optional<Whole> whole_;
  std::optional<Head> head_;
  std::optional<beast::http::response_serializer<beast::http::empty_body>> serializer_;
  std::shared_ptr<Pieces> pieces_;  // shared: see Answer.
  std::shared_ptr<Asker> asker_;    // shared: see Request. Null: nobody asks.
  bool watched_ = false;
  std::string idle_text_;
  std::optional<absl::StatusOr<std::string>> piece_;  // One that has come and is not yet written.
  bool writing_idle_ = false;
  int drained_ = 0;
  char scratch_[1024];
};

}  // namespace noisefloor::http
