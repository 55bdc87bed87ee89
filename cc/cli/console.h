// What the command line tool knows of its process and terminal: Ctrl-C, clocks, memory, UTF-8.
//
// Knows nothing of bundles or models.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "trtmc/status.h"

namespace trtmc::cli {

// From now on the first Ctrl-C sets the returned flag, and a second one ends the process at once
// with exit code 130.
std::atomic<bool>& catch_interrupt();

// Seconds since this process was started, by the system's own record (10 ms resolution).
double seconds_since_process_start();

// Highest resident memory of this process so far, in bytes; 0 if the system does not say.
std::uint64_t peak_memory();

// Ok, or "text.invalid_utf8" (kBadInput): `what`, the offset and the byte.
Status check_utf8(std::string_view text, std::string_view what);

// The whole of a file, or of standard input for "-". "cli.unreadable" (kBadInput).
Result<std::string> read_text(const std::string& path);

// Status for an interrupted command.
Status interrupted();

// Prints "error: …" and, for `json`, the error object; returns the process exit code.
int report(const Status& status, bool json);

}  // namespace trtmc::cli
