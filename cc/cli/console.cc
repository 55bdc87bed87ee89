#include "cc/cli/console.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trtmc::cli {
namespace {

constexpr int kStartTimeField = 22;  // of /proc/self/stat, see proc(5)

// A signal handler can reach nothing but static storage.
std::atomic<bool>& interrupt_flag() {
  static std::atomic<bool> flag{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
  return flag;
}

void on_interrupt(int) {
  if (interrupt_flag().exchange(true)) ::_exit(static_cast<int>(ExitClass::kInterrupted));
}

// Length of the well-formed character at `text`, 0 if there is none (Unicode, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80, high = lead == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80, high = lead == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::atomic<bool>& catch_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigemptyset(&action.sa_mask);  // without SA_RESTART, so that a read at the prompt ends too
  ::sigaction(SIGINT, &action, nullptr);
  return interrupt_flag();
}

double seconds_since_process_start() {
  std::ifstream file("/proc/self/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  timespec now{};
  if (name_end == std::string::npos || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= kStartTimeField; ++i) fields >> field;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double start = std::strtod(field.c_str(), nullptr) / ticks;
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - start;
}

// VmHWM and not getrusage: the latter begins with the parent's size after fork and exec.
std::uint64_t peak_memory() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

Status check_utf8(std::string_view text, std::string_view what) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
      return bad_input("text.invalid_utf8", std::string(what) + ": byte " + std::to_string(at) +
                       " (" + byte + ") is not valid UTF-8; convert the text to UTF-8 first");
    }
    at += length;
  }
  return Status::ok();
}

// With stdio: a file stream throws when it is given a folder.
Result<std::string> read_text(const std::string& path) {
  const bool piped = path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      piped ? nullptr : std::fopen(path.c_str(), "rb"), [](std::FILE* f) {
        return f == nullptr ? 0 : std::fclose(f);
      });
  std::FILE* const file = piped ? stdin : opened.get();
  std::string text;
  char block[16384];
  for (std::size_t n = 0; file != nullptr && (n = std::fread(block, 1, sizeof block, file)) > 0;) {
    text.append(block, n);
  }
  if (file != nullptr && std::ferror(file) != 0 && errno == EINTR) return interrupted();
  if (file == nullptr || std::ferror(file) != 0) {
    return bad_input("cli.unreadable", path + " cannot be read: " + std::strerror(errno));
  }
  return text;
}

Status interrupted() { return Status(ExitClass::kInterrupted, "cli.interrupted", "interrupted"); }

int report(const Status& status, bool json) {
  if (status.is_ok()) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  if (json) {
    const nlohmann::json object = {
        {"error", {{"code", status.code()}, {"message", status.message()}}}};
    std::printf("%s\n",
                object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  return status.exit_code();
}

}  // namespace trtmc::cli
