// Read-only mappings: the bytes are the file's, ownership moves, and failures name the file.
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const test::TempFolder folder;
  test::write_file(folder.file("x"), "octet");
  EXPECT_EQ(text_of(MappedFile(folder.file("x"))), "octet");
}

TEST(MappedFile, MapsAnEmptyFileToNothing) {
  const test::TempFolder folder;
  test::write_file(folder.file("x"), "");
  EXPECT_TRUE(MappedFile(folder.file("x")).bytes().empty());
}

TEST(MappedFile, MovesWithItsBytes) {
  const test::TempFolder folder;
  test::write_file(folder.file("x"), "first");
  test::write_file(folder.file("y"), "second");
  MappedFile first(folder.file("x"));
  MappedFile second(folder.file("y"));
  first = std::move(second);
  EXPECT_EQ(text_of(first), "second");
  EXPECT_EQ(text_of(MappedFile(std::move(first))), "second");
}

TEST(MappedFile, NamesTheFileThatIsNotThere) {
  test::expect_error(Code::kInput, {"/nowhere/x", "No such file"}, [] { MappedFile("/nowhere/x", Code::kInput); });
}

TEST(MappedFile, RefusesAFolder) {
  const test::TempFolder folder;
  test::expect_error(Code::kCheckpoint, {folder.path()}, [&] { MappedFile file(folder.path()); });
}

}  // namespace
}  // namespace octet
