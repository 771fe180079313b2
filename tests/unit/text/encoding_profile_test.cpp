// Recognising the chat encoding of a model folder.
#include "text/encoding_profile.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/sha256.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

/// A model folder with these files in encoding/.
class ModelFolder {
 public:
  using File = std::pair<std::string, std::string>;
  explicit ModelFolder(std::initializer_list<File> files) {
    std::filesystem::create_directories(folder_.file("encoding/tests"));
    for (const auto& [name, text] : files) test::write_file(folder_.file("encoding/" + name), text);
  }
  std::optional<EncodingProfile> find() const { return find_encoding(folder_.path()); }

 private:
  test::TempFolder folder_;
};

TEST(EncodingProfile, AModelWithoutEncoderHasNone) {
  const test::TempFolder bare;
  EXPECT_FALSE(find_encoding(bare.path()));
  EXPECT_FALSE(
      ModelFolder({ModelFolder::File("README.md", "Beyond maximum"), ModelFolder::File("tests/x.py", "Beyond maximum")})
          .find());
}

TEST(EncodingProfile, TheWordsOf0731AreRecognised) {
  const std::string text = "EFFORT = 'Beyond maximum'";
  const auto profile =
      ModelFolder({ModelFolder::File("__init__.py", ""), ModelFolder::File("encoding_dsv4.py", text)}).find();
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->encoding, ChatEncoding::kV40731);
  EXPECT_EQ(profile->sha256, sha256(text));
  EXPECT_TRUE(profile->file.ends_with("/encoding/encoding_dsv4.py")) << profile->file;
}

TEST(EncodingProfile, AnUnknownEncoderIsAnErrorThatNamesTheOption) {
  test::expect_error(Code::kCheckpoint, {"encoding_dsv4.py", "--encoding v4|0731", std::string(sha256("x"))},
                     [] { ModelFolder({ModelFolder::File("encoding_dsv4.py", "x")}).find(); });
}

TEST(EncodingProfile, WordsAndEncodingsCorrespond) {
  for (const ChatEncoding encoding : {ChatEncoding::kV4, ChatEncoding::kV40731}) {
    EXPECT_EQ(encoding_from_word(word_of(encoding)), encoding);
  }
  EXPECT_EQ(encoding_from_word("v4"), ChatEncoding::kV4);
  EXPECT_EQ(encoding_from_word("0731"), ChatEncoding::kV40731);
  EXPECT_FALSE(encoding_from_word("V4"));
}

}  // namespace
}  // namespace octet
