#include "coordinator/cli/download.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "curl/curl.h"

namespace noisefloor::cli {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct FreeCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

// One transfer into the part file.
struct Transfer {
  const DownloadRequest& request;
  CURL* curl = nullptr;
  std::FILE* file = nullptr;
  uint64_t from = 0;   // Bytes that were there,
  bool began = false;  // and whether the first piece has shown what the server made of it.
  int write_error = 0;
};

size_t OnPiece(char* bytes, size_t one, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.began) {
    transfer.began = true;
    long code = 0;
    curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &code);
    // A server without ranges sends the whole file again.
    if (transfer.from > 0 && code == 200) {
      transfer.from = 0;
      if (ftruncate(fileno(transfer.file), 0) != 0) return 0;
      std::rewind(transfer.file);
    }
  }
  const size_t written = std::fwrite(bytes, one, count, transfer.file);
  if (written != count) transfer.write_error = errno;
  return written * one;
}

int OnProgress(void* user, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<const Transfer*>(user);
  const DownloadRequest& request = transfer.request;
  if (request.progress && transfer.began) {
    const uint64_t whole = total > 0 ? transfer.from + static_cast<uint64_t>(total) : 0;
    request.progress(transfer.from + static_cast<uint64_t>(now), whole);
  }
  return request.stop && request.stop() ? 1 : 0;
}

void SetOptions(CURL* curl, Transfer& transfer) {
  curl_easy_setopt(curl, CURLOPT_URL, transfer.request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 30L);
  // Given up when nearly nothing has come for a minute.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "noisefloor");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnPiece);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  if (transfer.from > 0) {
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.from));
  }
}

absl::Status ToStatus(const Transfer& transfer, CURLcode result, const std::string& part) {
  if (transfer.write_error != 0) return FileError(part, "write", transfer.write_error);
  if (result == CURLE_OK) return absl::OkStatus();
  const std::string& url = transfer.request.url;
  if (result == CURLE_ABORTED_BY_CALLBACK) {
    return MakeError(absl::StatusCode::kCancelled, url + ": stopped; the same command goes on");
  }
  if (result == CURLE_HTTP_RETURNED_ERROR) {
    long code = 0;
    curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &code);
    if (code == 416)
      return MakeError(absl::StatusCode::kOutOfRange, url + ": the server answers 416");
    const bool missing = code == 404 || code == 410;
    return MakeError(missing ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable,
                     fmt::format("{}: the server answers {}", url, code));
  }
  if (result == CURLE_RANGE_ERROR) {
    return MakeError(absl::StatusCode::kOutOfRange, url + ": the server cannot resume");
  }
  if (result == CURLE_PARTIAL_FILE) {
    return MakeError(absl::StatusCode::kUnavailable,
                     url + ": the connection ended early; the same command goes on");
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("{}: {}", url, curl_easy_strerror(result)));
}

uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

absl::Status Fetch(const DownloadRequest& request, const std::string& part) {
  const File file(std::fopen(part.c_str(), "ab"));
  if (file == nullptr) return FileError(part, "open", errno);
  const std::unique_ptr<CURL, FreeCurl> curl(curl_easy_init());
  if (curl == nullptr) return MakeError(absl::StatusCode::kInternal, "libcurl does not start");
  Transfer transfer{.request = request, .curl = curl.get(), .file = file.get()};
  transfer.from = SizeOf(part);
  SetOptions(curl.get(), transfer);
  const CURLcode result = curl_easy_perform(curl.get());
  if (std::fflush(file.get()) != 0 || fsync(fileno(file.get())) != 0) {
    return FileError(part, "write", errno);
  }
  return ToStatus(transfer, result, part);
}

// Moves a part with the right hash to its place.
absl::Status Keep(const DownloadRequest& request, const std::string& part) {
  NF_ASSIGN_OR_RETURN(const std::string got, Sha256File(part));
  if (got != request.sha256) {
    NF_RETURN_IF_ERROR(RemoveFile(part));
    return MakeError(absl::StatusCode::kDataLoss, fmt::format("{}: expected SHA-256 {}, got {}",
                                                              request.url, request.sha256, got));
  }
  if (std::rename(part.c_str(), request.path.c_str()) != 0) {
    return FileError(request.path, "rename", errno);
  }
  return absl::OkStatus();
}

absl::Status FetchAndKeep(const DownloadRequest& request, const std::string& part) {
  absl::Status fetched = Fetch(request, part);
  if (fetched.ok()) return Keep(request, part);
  if (SizeOf(part) == 0) NF_RETURN_IF_ERROR(RemoveFile(part));
  return fetched;
}

bool IsWhole(const std::string& path, const std::string& sha256) {
  if (!PathExists(path)) return false;
  const auto hash = Sha256File(path);
  return hash.ok() && *hash == sha256;
}

}  // namespace

absl::Status Download(const DownloadRequest& request) {
  if (IsWhole(request.path, request.sha256)) return absl::OkStatus();
  const std::string part = request.path + ".part";
  // Stopped between the last byte and the renaming; asking for bytes after the end is an error.
  if (IsWhole(part, request.sha256)) return Keep(request, part);
  const bool resumes = SizeOf(part) > 0;
  absl::Status status = FetchAndKeep(request, part);
  // The part was of something else, or the server cannot go on: once more from the beginning.
  if (!resumes || !(absl::IsOutOfRange(status) || absl::IsDataLoss(status))) return status;
  NF_RETURN_IF_ERROR(RemoveFile(part));
  return FetchAndKeep(request, part);
}

}  // namespace noisefloor::cli
