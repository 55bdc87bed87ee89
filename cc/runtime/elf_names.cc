#include "cc/runtime/elf_names.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace trtmc {
namespace {

constexpr std::size_t kMaxHeaders = 256;
constexpr std::size_t kMaxDynamic = 4096;

Status bad_elf(const char* what) {
  return missing_component("dso.bad_elf",
                           std::string("it is no shared library for this machine: ") + what);
}

// A T at `offset`, if it lies inside the file.
template <class T>
std::optional<T> read_at(std::span<const std::byte> file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr>& headers,
                                         std::uint64_t address) {
  for (const Elf64_Phdr& h : headers) {
    if (h.p_type == PT_LOAD && address >= h.p_vaddr && address - h.p_vaddr < h.p_filesz) {
      return h.p_offset + (address - h.p_vaddr);
    }
  }
  return std::nullopt;
}

std::optional<std::string> text_at(std::span<const std::byte> file, std::uint64_t offset) {
  if (offset >= file.size()) return std::nullopt;
  const auto* begin = reinterpret_cast<const char*>(file.data()) + offset;
  const std::size_t longest = file.size() - offset;
  const std::size_t length = ::strnlen(begin, longest);
  if (length == longest) return std::nullopt;
  return std::string(begin, length);
}

}  // namespace

Result<ElfNames> elf_names(std::span<const std::byte> file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return bad_elf("no ELF header");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return bad_elf("not a 64-bit little-endian shared object");
  }
  if (header->e_phnum > kMaxHeaders) return bad_elf("too many program headers");

  std::vector<Elf64_Phdr> headers;
  const Elf64_Phdr* dynamic = nullptr;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto one = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!one) return bad_elf("a program header past the end of the file");
    headers.push_back(*one);
  }
  for (const Elf64_Phdr& h : headers) {
    if (h.p_type == PT_DYNAMIC) dynamic = &h;
  }
  if (dynamic == nullptr) return bad_elf("no dynamic section");

  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> soname, table;
  for (std::size_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn) && i < kMaxDynamic; ++i) {
    const auto entry = read_at<Elf64_Dyn>(file, dynamic->p_offset + i * sizeof(Elf64_Dyn));
    if (!entry) return bad_elf("the dynamic section goes past the end of the file");
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_SONAME) soname = entry->d_un.d_val;
    if (entry->d_tag == DT_STRTAB) table = file_offset(headers, entry->d_un.d_ptr);
  }
  if (!table) return bad_elf("no string table");
  ElfNames names;
  for (std::uint64_t at : needed) {
    const auto name = text_at(file, *table + at);
    if (!name) return bad_elf("a name past the end of the file");
    names.needed.push_back(*name);
  }
  if (soname) names.soname = text_at(file, *table + *soname).value_or("");
  return names;
}

Result<ElfNames> elf_names_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return missing_component("dso.unreadable", path + ": " + why);
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* map = size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (map == MAP_FAILED) return bad_elf("it cannot be mapped").with_context(path);
  auto names = elf_names({static_cast<const std::byte*>(map), size});
  ::munmap(map, size);
  return names.is_ok() ? names : names.status().with_context(path);
}

}  // namespace trtmc
