#include "cc/cli/npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trtmc::cli {

Status write_npy(const std::string& path, const float* data, std::int64_t rows,
                 std::int64_t columns) {
  constexpr std::size_t kAlign = 64, kPreamble = 10;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.append(kAlign - (kPreamble + header.size() + 1) % kAlign, ' ');
  header += '\n';
  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble += static_cast<char>(header.size() & 0xFF);
  preamble += static_cast<char>(header.size() >> 8);

  // Written beside it and renamed: an older file stays whole, and a device or link is not replaced.
  std::error_code unknown;
  const auto kind = std::filesystem::symlink_status(path, unknown).type();
  if (kind != std::filesystem::file_type::not_found &&
      kind != std::filesystem::file_type::regular) {
    return usage_error("cli.no_file", path + " is no regular file; name a file");
  }
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << preamble << header;
  const auto bytes = rows * columns * static_cast<std::int64_t>(sizeof(float));
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  if (file.good() && std::rename(part.c_str(), path.c_str()) == 0) return Status::ok();
  const std::string why = std::strerror(errno);
  std::remove(part.c_str());
  return resource_error("cli.unwritable", path + " cannot be written: " + why);
}

}  // namespace trtmc::cli
