// The TextCodec of a bundle: its own tokenizer and chat template behind the pipeline's interface.
//
// Reading a tokenizer takes tens of milliseconds, so it starts on a second thread at once and the
// first call that needs it waits; a tokenizer that cannot be read is that call's error.
#pragma once

#include <memory>

#include "trtmc/bundle.h"
#include "trtmc/text.h"

namespace trtmc {

// Null if the bundle has no tokenizer.
std::shared_ptr<const TextCodec> make_text_codec(std::shared_ptr<const BundleView> bundle);

}  // namespace trtmc
