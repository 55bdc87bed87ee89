#include "cc/cli/npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
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

  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << preamble << header;
  const auto bytes = rows * columns * static_cast<std::int64_t>(sizeof(float));
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  if (file.good()) return Status::ok();
  const std::string why = std::strerror(errno);
  std::remove(path.c_str());
  return resource_error("cli.unwritable", path + " cannot be written: " + why);
}

}  // namespace trtmc::cli
