#include "cc/bundle/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cc/bundle/rules.h"

namespace trtmc::bundle {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity identity_of(const struct stat& status) {
  return FileIdentity{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                      nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

Status cannot_open(const std::string& path, std::string_view why) {
  return fault(kNotFound, path + ": cannot open the bundle: " + std::string(why));
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a named pipe must not hang us before it is refused.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return cannot_open(path, std::strerror(errno));
  std::unique_ptr<MappedFile> file(new MappedFile(descriptor, nullptr, {}));
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return cannot_open(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return cannot_open(path, "it is no regular file");
  file->identity_ = identity_of(status);
  if (status.st_size == 0) return file;
  void* data = ::mmap(nullptr, file->identity_.size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return cannot_open(path, std::strerror(errno));
  file->data_ = static_cast<const std::byte*>(data);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), identity_.size);
  ::close(descriptor_);
}

bool MappedFile::unchanged() const {
  struct stat status;
  return ::fstat(descriptor_, &status) == 0 && identity_of(status) == identity_;
}

}  // namespace trtmc::bundle
