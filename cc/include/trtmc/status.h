// Status and Result<T>: how every fallible call of the runtime reports.
//
// A Status is either ok or carries three things: an exit class (what kind of failure, and the
// process exit code a command line tool ends with), a stable slug such as "bundle.bad_magic"
// (what tests and scripts compare), and one sentence for a person: what failed, where, expected
// and found, what to do. The slugs are shared with the Python builder.
//
// Nothing here throws. Exceptions never cross a DSO border; code that calls a throwing library
// catches at once and returns a Status.
//
//   Result<int> parse(std::string_view text);
//   Status use(std::string_view text) {
//     TRTMC_ASSIGN_OR_RETURN(int value, parse(text));
//     return value > 0 ? Status::ok() : bad_input("demo.not_positive", "value must be positive");
//   }
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace trtmc {

// The numbers are the documented process exit codes; do not change them.
enum class ExitClass : int {
  kOk = 0,
  kInternal = 1,           // a bug of ours
  kUsage = 2,              // a wrong option or argument
  kBadInput = 3,           // a checkpoint, bundle, prompt or conversation that is not right
  kUnsupported = 4,        // asks for something that is not implemented
  kTargetMismatch = 5,     // the machine lacks what the bundle was compiled for
  kMissingComponent = 6,   // a shared library or file of the installation is missing or unfit
  kResource = 7,           // memory, disk or capacity ran out
  kInterrupted = 130,      // the user stopped it
};

class [[nodiscard]] Status {
 public:
  // An ok Status holds no allocation: returning one is free.
  Status() = default;
  Status(ExitClass exit_class, std::string code, std::string message)
      : rep_(std::make_shared<const Rep>(Rep{exit_class, std::move(code), std::move(message)})) {}

  static Status ok() { return Status(); }

  bool is_ok() const { return rep_ == nullptr; }
  explicit operator bool() const { return is_ok(); }

  ExitClass exit_class() const { return rep_ ? rep_->exit_class : ExitClass::kOk; }
  int exit_code() const { return static_cast<int>(exit_class()); }
  std::string_view code() const { return rep_ ? std::string_view(rep_->code) : "ok"; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : ""; }

  // The same failure with "`context`: " in front of the sentence; ok stays ok.
  Status with_context(std::string_view context) const {
    if (is_ok()) return *this;
    return Status(rep_->exit_class, rep_->code, std::string(context) + ": " + rep_->message);
  }

 private:
  struct Rep {
    ExitClass exit_class;
    std::string code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

// Shorthands, one per exit class.
inline Status internal_error(std::string code, std::string message) {
  return {ExitClass::kInternal, std::move(code), std::move(message)};
}
inline Status usage_error(std::string code, std::string message) {
  return {ExitClass::kUsage, std::move(code), std::move(message)};
}
inline Status bad_input(std::string code, std::string message) {
  return {ExitClass::kBadInput, std::move(code), std::move(message)};
}
inline Status unsupported(std::string code, std::string message) {
  return {ExitClass::kUnsupported, std::move(code), std::move(message)};
}
inline Status target_mismatch(std::string code, std::string message) {
  return {ExitClass::kTargetMismatch, std::move(code), std::move(message)};
}
inline Status missing_component(std::string code, std::string message) {
  return {ExitClass::kMissingComponent, std::move(code), std::move(message)};
}
inline Status resource_error(std::string code, std::string message) {
  return {ExitClass::kResource, std::move(code), std::move(message)};
}

// A value or the Status that says why there is none. Reading value() of a failed Result is a bug
// of the caller; check is_ok() (or use TRTMC_ASSIGN_OR_RETURN) first.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose
  template <class U>
    requires std::is_convertible_v<U&&, T> && (!std::is_same_v<std::decay_t<U>, Status>) &&
             (!std::is_same_v<std::decay_t<U>, Result>) && (!std::is_same_v<std::decay_t<U>, T>)
  Result(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT: unique_ptr<Derived> and such

  bool is_ok() const { return value_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T value() && { return *std::move(value_); }  // by value: safe in a range-for over a temporary
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace trtmc

#define TRTMC_CONCAT_INNER(a, b) a##b
#define TRTMC_CONCAT(a, b) TRTMC_CONCAT_INNER(a, b)

#define TRTMC_RETURN_IF_ERROR(expr)                        \
  do {                                                     \
    ::trtmc::Status trtmc_status_ = (expr);                \
    if (!trtmc_status_.is_ok()) return trtmc_status_;      \
  } while (false)

// TRTMC_ASSIGN_OR_RETURN(auto engine, backend.load(...));
#define TRTMC_ASSIGN_OR_RETURN(lhs, expr) \
  TRTMC_ASSIGN_OR_RETURN_IMPL(TRTMC_CONCAT(trtmc_result_, __LINE__), lhs, expr)
#define TRTMC_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                                \
  if (!result.is_ok()) return result.status();         \
  lhs = std::move(result).value()
