// Which chat encoding a checkpoint was trained with. Its configuration does not say, so the encoder that it brings
// along is recognised; a wrong guess would cost accuracy without any sign of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/chat.h"

namespace octet {

/// An encoding and what it was recognised by.
struct EncodingProfile {
  ChatEncoding encoding = ChatEncoding::kV4;
  std::string file;    ///< the encoder's path
  std::string sha256;  ///< of that file
};

/// Looks at MODEL/encoding/*.py: a file whose SHA-256 is known, else one that knows the "Beyond maximum" effort, which
/// only the 0731 encoding has. Nothing if there is no such file (a model without chat). Error{kCheckpoint}, which names
/// --encoding, if none of the files is known or they disagree.
std::optional<EncodingProfile> find_encoding(const std::string& model_dir);

/// "v4" or "0731"; nothing for another word.
std::optional<ChatEncoding> encoding_from_word(std::string_view word);
std::string_view word_of(ChatEncoding encoding);

}  // namespace octet
