// What the files of this folder call Boost's things, and what a server knows of a connection.
#pragma once

#include <cstdint>

#include "boost/asio/ssl/stream.hpp"
#include "boost/beast/core/error.hpp"
#include "boost/beast/core/tcp_stream.hpp"
#include "boost/beast/http/error.hpp"

namespace noisefloor::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Error = beast::error_code;
using Plain = beast::tcp_stream;
using Tls = asio::ssl::stream<beast::tcp_stream>;

inline constexpr uint32_t kMostHeaderBytes = 16 << 10;
inline constexpr int kMostDrained = 64;  // Reads of what nobody asked for, before a close.

// What a server can do with a connection of either kind.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Close() = 0;  // At once. What it waits for still ends it.
};

// Whether a request that could not be read is none, rather than not whole.
inline bool IsMalformed(Error error) {
  const bool left =
      error == beast::http::error::end_of_stream || error == beast::http::error::partial_message;
  return !left && error.category() == Error(beast::http::error::bad_method).category();
}

// Whether the other side has said all that it will; looks, and takes nothing.
inline bool HasEnd(asio::ip::tcp::socket& socket) {
  char byte = 0;
  Error error;
  socket.non_blocking(true, error);
  const size_t size =
      socket.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
  return size == 0 && error != asio::error::would_block;
}

}  // namespace noisefloor::http
