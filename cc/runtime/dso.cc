#include "cc/runtime/dso.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cc/runtime/elf_names.h"
#include "cc/runtime/library_folder.h"

namespace trtmc {
namespace {

Status unsafe(const std::string& path, const std::string& why, const std::string& remedy) {
  return missing_component("load.unsafe_dso", path + " is not loaded: " + why + "; " + remedy);
}

bool trusted_owner(uid_t owner) {
  if (owner == 0 || owner == ::geteuid()) return true;
  const auto self = own_file();
  struct stat info;
  return self.is_ok() && ::stat(self->c_str(), &info) == 0 && info.st_uid == owner;
}

Status check_one(const std::string& path, bool folder) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return missing_component("load.missing_dso", path + ": " + std::strerror(errno));
  }
  if (folder ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode)) {
    return unsafe(path, folder ? "it is no folder" : "it is no regular file",
                  "install the runtime again");
  }
  if (!trusted_owner(info.st_uid)) {
    return unsafe(path, "it belongs to user " + std::to_string(info.st_uid) +
                  ", who is neither root, nor you, nor the owner of this program",
                  "install the runtime as one user");
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return unsafe(path, "every user may change it", "take the permission away: chmod o-w");
  }
  return Status::ok();
}

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "no reason given";
}

}  // namespace

Status check_owner(const std::string& path) {
  namespace fs = std::filesystem;
  TRTMC_RETURN_IF_ERROR(check_one(path, false));
  TRTMC_RETURN_IF_ERROR(check_one(fs::path(path).parent_path().string(), true));
  std::error_code error;
  const fs::path real = fs::canonical(path, error);  // a link: its target's folder counts too
  return error ? Status::ok() : check_one(real.parent_path().string(), true);
}

Result<void*> DsoFolder::open(const std::string& file, int flags) {
  const std::string path = folder_ + "/" + file;
  opened_.insert(file);
  TRTMC_RETURN_IF_ERROR(check_owner(path));
  TRTMC_ASSIGN_OR_RETURN(const ElfNames names, elf_names_of(path));
  for (const std::string& name : names.needed) {
    if (name.find('/') != std::string::npos || opened_.contains(name)) continue;
    if (::access((folder_ + "/" + name).c_str(), F_OK) != 0) continue;  // of the system
    TRTMC_RETURN_IF_ERROR(open_needed(name));
  }
  void* handle = ::dlopen(path.c_str(), flags | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    return missing_component("dso.open_failed", path + " cannot be loaded: " + last_dl_error());
  }
  return handle;
}

// The dynamic loader knows an open library again by its soname only.
Status DsoFolder::open_needed(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  TRTMC_ASSIGN_OR_RETURN(const ElfNames names, elf_names_of(path));
  if (names.soname != name) {
    return unsafe(path, "its soname is \"" + names.soname + "\", so that a library on "
                  "LD_LIBRARY_PATH could take its place", "link it with -Wl,-soname," + name);
  }
  return open(name, RTLD_LAZY).status();
}

Result<void*> DsoFolder::symbol(const std::string& file, const std::string& symbol) {
  TRTMC_ASSIGN_OR_RETURN(void* const handle, open(file, RTLD_NOW));
  ::dlerror();
  void* const address = ::dlsym(handle, symbol.c_str());
  if (address == nullptr) {
    return missing_component("dso.no_symbol", folder_ + "/" + file + " has no symbol " + symbol +
                             ", so it is not a library of this runtime: " + last_dl_error());
  }
  return address;
}

}  // namespace trtmc
