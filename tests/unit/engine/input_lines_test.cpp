// InputLines: the same lines as splitting the whole text, whatever the size of lines and blocks, and again by place.
#include "io/input_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/random.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

std::string written(const test::TempFolder& dir, std::string_view bytes) {
  test::write_file(dir.file("in"), bytes);
  return dir.file("in");
}

struct Seen {
  int64_t number;
  std::string text;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> lines_of(const std::string& path) {
  InputLines input(path);
  std::vector<Seen> seen;
  std::vector<InputLine> places;
  InputLine line;
  std::string text;
  while (input.next(line, text)) {
    seen.push_back({line.number, text});
    places.push_back(line);
  }
  for (size_t i = places.size(); i-- > 0;) EXPECT_EQ(input.read(places[i]), seen[i].text);
  return seen;
}

TEST(InputLines, SkipsBlankLinesAndCountsThem) {
  const test::TempFolder dir;
  const std::string path = written(dir, "\xef\xbb\xbfone\r\n\n \t\r\nfour\n\nsix");
  EXPECT_EQ(lines_of(path), (std::vector<Seen>{{1, "one"}, {4, "four"}, {6, "six"}}));
  EXPECT_TRUE(lines_of(written(dir, "")).empty());
  EXPECT_TRUE(lines_of(written(dir, "\n\r\n \n")).empty());
}

TEST(InputLines, ReadsLinesAcrossBlocks) {
  const test::TempFolder dir;
  test::Random random(1);
  std::string text;
  std::vector<Seen> wanted;
  for (int64_t number = 1; number <= 400; ++number) {
    const int64_t size = random.uniform() < 0.05 ? random.integer(200'000, 700'000) : random.integer(0, 300);
    const std::string line(static_cast<size_t>(size), static_cast<char>('a' + number % 26));
    text += line + (number % 3 == 0 ? "\r\n" : "\n");
    if (size > 0) wanted.push_back({number, line});
  }
  EXPECT_EQ(lines_of(written(dir, text)), wanted);
}

TEST(InputLines, ReadsAPipeTwice) {
  const test::TempFolder dir;
  const std::string path = written(dir, "a\nb\n");
  const std::string command = "cat " + path;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_EQ(lines_of("/dev/fd/" + std::to_string(::fileno(pipe))), (std::vector<Seen>{{1, "a"}, {2, "b"}}));
  ::pclose(pipe);
}

TEST(InputLines, SaysWhatCannotBeRead) {
  const test::TempFolder dir;
  test::expect_error(Code::kInput, {"/none", "No such file"}, [&] { InputLines(dir.file("none")); });
  test::expect_error(Code::kInput, {"Is a directory"}, [&] { lines_of(dir.path()); });
  const std::string path = written(dir, "long line\nnext\n");
  InputLines input(path);
  InputLine line;
  std::string text;
  ASSERT_TRUE(input.next(line, text));
  ASSERT_EQ(::truncate(path.c_str(), 3), 0);
  test::expect_error(Code::kInput, {"shorter"}, [&] { input.read(line); });
}

}  // namespace
}  // namespace octet
