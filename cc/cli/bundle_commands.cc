// `trtmc inspect` and `trtmc verify`: look at a bundle, or check all of it.

#include <cstdio>
#include <memory>

#include "cc/bundle/bundle.h"
#include "cc/bundle/describe.h"
#include "cc/bundle/reports.h"
#include "cc/cli/answer.h"
#include "cc/cli/commands.h"

namespace trtmc::cli {
namespace {

struct BundleOptions {
  std::string path;
  bool json = false;
  bool engine = false;
};

Status inspect(const BundleOptions& o) {
  TRTMC_ASSIGN_OR_RETURN(const auto bundle, Bundle::open(o.path, VerifyMode::kLazy));
  if (o.engine) {
    TRTMC_ASSIGN_OR_RETURN(const auto text, o.json ? reports_json(*bundle) : reports_text(*bundle));
    std::printf(o.json ? "%s\n" : "%s", text.c_str());
  } else if (o.json) {
    std::printf("%s\n", describe_json(*bundle).c_str());
  } else {
    std::printf("%s", describe_text(*bundle).c_str());
  }
  return Status::ok();
}

Status verify(const BundleOptions& o) {
  TRTMC_ASSIGN_OR_RETURN(const auto bundle, Bundle::open(o.path, VerifyMode::kFull));
  const std::size_t count = bundle->header().sections.size();
  if (o.json) {
    print_json({{"bundle", o.path}, {"ok", true}, {"sections", count}, {"id", bundle->id()}});
  } else {
    std::printf("%s: ok, %zu sections, id %s\n", o.path.c_str(), count,
                std::string(bundle->id()).c_str());
  }
  return Status::ok();
}

Command add(CLI::App& app, const char* name, const char* help,
            Status (*run)(const BundleOptions&), bool shows_engines) {
  CLI::App* sub = app.add_subcommand(name, help);
  auto o = std::make_shared<BundleOptions>();
  sub->add_option("bundle", o->path, "the .bundle file")->required();
  sub->add_flag("--json", o->json, "print one JSON object");
  if (shows_engines) {
    sub->add_flag("--engine", o->engine, "show the engines' build reports instead");
  }
  return {sub, [o, run] { return run(*o); }, [o] { return o->json; }};
}

}  // namespace

Command add_inspect(CLI::App& app) {
  return add(app, "inspect", "Show header, sections, contracts and provenance", inspect, true);
}

Command add_verify(CLI::App& app) {
  return add(app, "verify", "Check every byte against the hashes", verify, false);
}

}  // namespace trtmc::cli
