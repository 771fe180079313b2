// Bytes of a file by place: every read against the bytes that were written.
#include "io/window_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "tests/support/random.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

constexpr int64_t kFileBytes = 1'000'000;

TEST(WindowReader, GivesTheBytesOfTheFileWhereverTheyLie) {
  test::Random random(1);
  const test::TempFolder dir;
  std::string bytes(kFileBytes, '\0');
  for (char& c : bytes) c = static_cast<char>(random.integer(-128, 127));
  test::write_file(dir.file("f"), bytes);
  const int fd = ::open(dir.file("f").c_str(), O_RDONLY);
  WindowReader reader(fd);
  int64_t place = 0;
  for (int i = 0; i < 5000; ++i) {
    // Steps forward and back of every length, from neighbours to the whole file.
    const int64_t step = random.integer(0, int64_t{1} << random.integer(0, 19));
    place = std::clamp<int64_t>(random.integer(0, 2) == 0 ? place - step : place + step, 0, kFileBytes);
    if (place == kFileBytes) place = 0;
    const int64_t size = std::min(random.integer(0, i % 50 == 0 ? 200'000 : 600), kFileBytes - place);
    std::string got(static_cast<size_t>(size), '\0');
    ASSERT_TRUE(reader.read(got.data(), size, place));
    ASSERT_EQ(got, bytes.substr(static_cast<size_t>(place), static_cast<size_t>(size))) << place << " " << size;
  }
  ::close(fd);
}

TEST(WindowReader, SeesWhatIsAppendedAndSaysWhereTheFileEnds) {
  const test::TempFolder dir;
  const int fd = ::open(dir.file("f").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::pwrite(fd, "abc", 3, 0), 3);
  WindowReader reader(fd);
  std::string got(3, '\0');
  EXPECT_TRUE(reader.read(got.data(), 3, 0));
  EXPECT_EQ(got, "abc");
  errno = EBADF;
  EXPECT_FALSE(reader.read(got.data(), 3, 1));
  EXPECT_EQ(errno, 0) << "the file ends: no error of the system";
  ASSERT_EQ(::pwrite(fd, "def", 3, 3), 3);
  EXPECT_TRUE(reader.read(got.data(), 3, 2));
  EXPECT_EQ(got, "cde");
  ::close(fd);
  EXPECT_FALSE(reader.read(got.data(), 3, 100'000));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace octet
