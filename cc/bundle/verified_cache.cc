#include "cc/bundle/verified_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <span>

#include "cc/bundle/sha256.h"

namespace trtmc::bundle {
namespace {

constexpr std::int64_t kSettled_ns = 100'000'000;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  bool good() const { return value_ >= 0; }

 private:
  int value_;
};

// The folder, if nobody but this user can touch it.
Descriptor open_private(const std::string& folder) {
  const int descriptor =
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0 || status.st_uid != ::geteuid() ||
      (status.st_mode & 0777) != 0700) {
    if (descriptor >= 0) ::close(descriptor);
    return Descriptor(-1);
  }
  return Descriptor(descriptor);
}

std::string content(std::string_view id, std::string_view section, const FileIdentity& file) {
  std::string text = "trtmc verified section, version 1\n";
  text += "bundle " + std::string(id) + "\nsection " + std::string(section) + "\n";
  text += "device " + std::to_string(file.device) + "\ninode " + std::to_string(file.inode) + "\n";
  text += "size " + std::to_string(file.size) + "\n";
  text += "mtime_ns " + std::to_string(file.mtime_ns) + "\n";
  text += "ctime_ns " + std::to_string(file.ctime_ns) + "\n";
  return text;
}

std::string stamp_name(const std::string& text) {
  return to_hex(sha256(std::as_bytes(std::span(text))));
}

// Makes `folder` and up to `levels` of its parents, each private.
void make_folders(const std::string& folder, int levels) {
  const std::size_t last = folder.rfind('/');
  if (levels > 0 && last != std::string::npos && last > 0) {
    make_folders(folder.substr(0, last), levels - 1);
  }
  ::mkdir(folder.c_str(), 0700);
}

}  // namespace

VerifiedCache VerifiedCache::for_user() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr && value[0] == '/' ? value : "");
  };
  std::string base = variable("XDG_CACHE_HOME");
  if (base.empty()) {
    base = variable("HOME");
    if (base.empty()) return VerifiedCache("");
    base += "/.cache";
  }
  return VerifiedCache(base + "/trtmc/verified");
}

bool VerifiedCache::contains(std::string_view bundle_id, std::string_view section,
                             const FileIdentity& file) const {
  if (folder_.empty()) return false;
  const Descriptor folder = open_private(folder_);
  if (!folder.good()) return false;
  const std::string expected = content(bundle_id, section, file);
  const Descriptor stamp(::openat(folder.get(), stamp_name(expected).c_str(),
                                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!stamp.good()) return false;
  std::string found(expected.size() + 1, '\0');
  const ssize_t length = ::read(stamp.get(), found.data(), found.size());
  return length == static_cast<ssize_t>(expected.size()) &&
         found.compare(0, expected.size(), expected) == 0;
}

void VerifiedCache::add(std::string_view bundle_id, std::string_view section,
                        const FileIdentity& file) const {
  if (folder_.empty()) return;
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  if (now.count() - file.ctime_ns < kSettled_ns) return;
  make_folders(folder_, 2);
  const Descriptor folder = open_private(folder_);
  if (!folder.good()) return;
  const std::string text = content(bundle_id, section, file);
  const std::string name = stamp_name(text);
  // A stamp cut short by a crash is not believed (contains compares it whole) and is replaced.
  const Descriptor stamp(::openat(folder.get(), name.c_str(),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!stamp.good()) return;
  if (::write(stamp.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::unlinkat(folder.get(), name.c_str(), 0);
  }
}

}  // namespace trtmc::bundle
