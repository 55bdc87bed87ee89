#include "cc/backends/tensorrt/jit_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace trtmc::tensorrt {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;

// FNV-1a: finds damage, guards against nothing else. Who could change the file could change more.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 1099511628211ull;
  return hash;
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

JitCache::JitCache(const std::string& folder, const JitKey& key) {
  if (folder.empty()) return;
  head_ = "trtmc-jit 1\nbundle " + key.bundle + "\nsection " + key.section + "\ngpu " + key.gpu +
          "\ndriver " + key.driver + "\nlibrary " + key.library + "\n";
  path_ = folder + "/tensorrt-" + hex(checksum(bytes_of(head_))) + ".jit";
}

std::vector<std::byte> JitCache::read() const {
  if (path_.empty()) return {};
  std::ifstream file(path_, std::ios::binary);
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  const std::size_t front = head_.size() + 16 + 1;  // head, checksum, newline
  if (!file || error || size < front || size > kMost) return {};
  std::string head(front, '\0');
  std::vector<std::byte> body(size - front);
  file.read(head.data(), static_cast<std::streamsize>(front));
  file.read(reinterpret_cast<char*>(body.data()), static_cast<std::streamsize>(body.size()));
  if (!file || head != head_ + hex(checksum(body)) + "\n") return {};
  return body;
}

void JitCache::write(std::span<const std::byte> bytes) const {
  if (path_.empty() || bytes.empty() || bytes.size() > kMost) return;
  const std::string front = head_ + hex(checksum(bytes)) + "\n";
  {
    std::ifstream old(path_, std::ios::binary);
    std::string head(front.size(), '\0');
    if (old.read(head.data(), static_cast<std::streamsize>(head.size())) && head == front) return;
  }
  std::string temporary = path_ + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());  // mode 0600
  if (fd < 0) return;
  const auto put = [fd](const void* data, std::size_t size) {
    const auto* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t done = ::write(fd, at, size);
      if (done <= 0) return false;
      at += done;
      size -= static_cast<std::size_t>(done);
    }
    return true;
  };
  const bool written = put(front.data(), front.size()) && put(bytes.data(), bytes.size());
  if (::close(fd) != 0 || !written || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    ::unlink(temporary.c_str());
  }
}

}  // namespace trtmc::tensorrt
