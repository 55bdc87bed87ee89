#include "cc/runtime/text_codec.h"

#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cc/text/chat.h"
#include "cc/text/chat_template.h"
#include "cc/text/tokenizer.h"

namespace trtmc {
namespace {

// The bytes of an asset; empty if the bundle has none in this role.
Result<std::string_view> asset(const BundleView& bundle, std::string_view role) {
  const auto& assets = bundle.header().assets;
  const auto it = assets.find(role);
  if (it == assets.end()) return std::string_view();
  TRTMC_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, bundle.section(it->second));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class BundleTextCodec final : public TextCodec {
 public:
  explicit BundleTextCodec(std::shared_ptr<const BundleView> bundle)
      : bundle_(std::move(bundle)),
        tokenizer_(std::async(std::launch::async, [this] { return read_tokenizer(); }).share()) {}

  Result<std::vector<std::int32_t>> encode(std::string_view text,
                                           const EncodeOptions& options) const override {
    TRTMC_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, this->tokenizer());
    return tokenizer->encode(text, options);
  }

  Result<std::string> decode(std::span<const std::int32_t> ids, bool skip_special) const override {
    TRTMC_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, this->tokenizer());
    return tokenizer->decode(ids, skip_special);
  }

  Result<std::unique_ptr<TextStream>> stream(bool skip_special) const override {
    TRTMC_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, this->tokenizer());
    return tokenizer->stream(skip_special);
  }

  Result<std::vector<std::int32_t>> encode_chat(std::string_view messages_json,
                                                const ChatOptions& options) const override {
    TRTMC_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, this->tokenizer());
    TRTMC_ASSIGN_OR_RETURN(const ChatTemplate* const chat_template, this->chat_template());
    TRTMC_ASSIGN_OR_RETURN(EncodedChat chat, trtmc::encode_chat(*tokenizer, *chat_template,
                                                                messages_json, {render(options)}));
    return std::move(chat.ids);
  }

  Result<std::string> render_chat(std::string_view messages_json,
                                  const ChatOptions& options) const override {
    TRTMC_ASSIGN_OR_RETURN(const ChatTemplate* const chat_template, this->chat_template());
    return chat_template->render(messages_json, render(options));
  }

 private:
  using TokenizerResult = Result<std::unique_ptr<Tokenizer>>;
  using TemplateResult = Result<std::unique_ptr<ChatTemplate>>;

  static RenderOptions render(const ChatOptions& options) {
    RenderOptions made;
    made.add_generation_prompt = options.add_generation_prompt;
    made.tools_json = options.tools_json;
    return made;
  }

  Status in_bundle(const Status& status) const { return status.with_context(bundle_->path()); }

  TokenizerResult read_tokenizer() const {
    TRTMC_ASSIGN_OR_RETURN(const std::string_view json, asset(*bundle_, "tokenizer"));
    TRTMC_ASSIGN_OR_RETURN(const std::string_view config, asset(*bundle_, "tokenizer_config"));
    return Tokenizer::from_json(json, config);
  }

  TemplateResult read_template() const {
    TRTMC_ASSIGN_OR_RETURN(const std::string_view file, asset(*bundle_, "chat_template"));
    TRTMC_ASSIGN_OR_RETURN(const std::string_view config, asset(*bundle_, "tokenizer_config"));
    return ChatTemplate::create(file, config);
  }

  Result<const Tokenizer*> tokenizer() const {
    const TokenizerResult& result = tokenizer_.get();
    if (!result.is_ok()) return in_bundle(result.status());
    return result->get();
  }

  Result<const ChatTemplate*> chat_template() const {
    std::call_once(template_once_, [this] { template_.emplace(read_template()); });
    if (!template_->is_ok()) return in_bundle(template_->status());
    return (*template_)->get();
  }

  std::shared_ptr<const BundleView> bundle_;
  mutable std::once_flag template_once_;
  mutable std::optional<TemplateResult> template_;
  std::shared_future<TokenizerResult> tokenizer_;  // last: its thread uses the members above
};

}  // namespace

std::shared_ptr<const TextCodec> make_text_codec(std::shared_ptr<const BundleView> bundle) {
  if (!bundle->header().assets.contains("tokenizer")) return nullptr;
  return std::make_shared<BundleTextCodec>(std::move(bundle));
}

}  // namespace trtmc
