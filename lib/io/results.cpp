// POSIX files: the promises (one write per line, a lock, rename as the last act) are about system calls.
#include "io/results.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/replace_file.h"
#include "io/window_reader.h"

namespace octet {
namespace {

constexpr std::chrono::seconds kSyncPeriod{5};
constexpr int64_t kBlockBytes = 1 << 20;

Error cannot(std::string_view what, const std::string& path, Code code = Code::kEnvironment) {
  return Error(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// Whether `path` still names the file behind `fd`: a run that ends takes the name away and then the lock.
bool is_named(int fd, const std::string& path) {
  struct stat own {
  }, named{};
  return ::fstat(fd, &own) == 0 && ::stat(path.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
         own.st_dev == named.st_dev;
}

/// Lines that end with a newline; what follows the last one was torn by a crash.
int64_t whole_lines(int fd) {
  int64_t lines = 0, offset = 0;
  std::vector<char> buffer(kBlockBytes);
  ssize_t got = 0;
  while ((got = ::pread(fd, buffer.data(), buffer.size(), offset)) > 0) {
    lines += std::count(buffer.data(), buffer.data() + got, '\n');
    offset += got;
  }
  return lines;
}

}  // namespace

ResultFile::ResultFile(std::string path, Open how) : path_(std::move(path)), journal_path_(path_ + ".partial") {
  if (how == Open::kResume && !exists(journal_path_) && exists(path_)) {
    copy_output_to_journal();
  } else {
    open_journal();
  }
  switch (how) {
    case Open::kFresh: {
      const int64_t lines = whole_lines(journal_);
      if (lines > 0) {
        refuse(fmt::format("{} holds {} finished lines of an interrupted run; --resume goes on, --force gives them up",
                           journal_path_, lines));
      }
      // Asked under the lock: a run that has just finished has put its file there by now.
      if (exists(path_))
        refuse(fmt::format("the output {} exists; --force overwrites it, --resume goes on with it", path_));
      break;
    }
    case Open::kForce: break;
    case Open::kResume: go_on(); return;
  }
  if (::ftruncate(journal_, 0) != 0) refuse(fmt::format("cannot empty {}", journal_path_));
}

ResultFile::~ResultFile() {
  if (journal_ < 0) return;
  // An empty journal beside an old OUT says that OUT was given up: a later resume must not take OUT's rows for those of
  // the run that OUT.run.json describes.
  const bool says_nothing = copied_ ? written_ == 0 : end_ == 0 && !exists(path_);
  if (says_nothing) ::unlink(journal_path_.c_str());
  ::close(journal_);
}

void ResultFile::refuse(const std::string& sentence) {
  if (created_) ::unlink(journal_path_.c_str());
  ::close(journal_);
  throw Error(Code::kUsage, sentence);
}

void ResultFile::open_journal() {
  journal_ = ::open(journal_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  created_ = journal_ >= 0;
  if (!created_ && errno == EEXIST) journal_ = ::open(journal_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (journal_ < 0) throw cannot("create", journal_path_, Code::kUsage);
  if (::flock(journal_, LOCK_EX | LOCK_NB) == 0 && is_named(journal_, journal_path_)) return;
  created_ = false;  // whoever holds the lock has taken it over
  refuse(fmt::format("{} is being written by another run", journal_path_));
}

/// OUT itself stays until the rename at the end. The copy gets its name when it is whole and locked: a journal that is
/// there counts more than OUT, so half a copy would forget rows.
void ResultFile::copy_output_to_journal() {
  const std::string copy_path = journal_path_ + ".copy";
  const int source = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) throw cannot("read", path_, Code::kUsage);
  journal_ = ::open(copy_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (journal_ < 0) {
    const Error error = cannot("create", copy_path, Code::kUsage);
    ::close(source);
    throw error;
  }
  bool locked = false;
  try {
    locked = ::flock(journal_, LOCK_EX | LOCK_NB) == 0 && is_named(journal_, copy_path);
    if (!locked) throw Error(Code::kUsage, fmt::format("{} is being written by another run", copy_path));
    if (::ftruncate(journal_, 0) != 0) throw cannot("empty", copy_path);
    std::string block(kBlockBytes, '\0');
    ssize_t got = 0;
    while ((got = ::read(source, block.data(), block.size())) > 0) {
      write_all(journal_, {block.data(), static_cast<size_t>(got)}, copy_path);
    }
    if (got < 0) throw cannot("read", path_);
    if (::fsync(journal_) != 0) throw cannot("make durable", copy_path);
    if (::link(copy_path.c_str(), journal_path_.c_str()) != 0) {  // unlike rename it never takes another run's place
      throw cannot("make", journal_path_, Code::kUsage);
    }
  } catch (...) {
    ::close(source);
    if (locked) ::unlink(copy_path.c_str());
    ::close(journal_);
    throw;
  }
  ::close(source);
  ::unlink(copy_path.c_str());
  copied_ = created_ = true;
}

void ResultFile::go_on() {
  try {
    EarlierRows found = read_earlier_rows(journal_, journal_path_);
    earlier_ = std::move(found.rows);
    end_ = synced_end_ = found.end;
    if (::ftruncate(journal_, end_) != 0) throw cannot("cut the torn last line off", journal_path_);
  } catch (...) {
    if (created_) ::unlink(journal_path_.c_str());
    ::close(journal_);
    throw;
  }
}

void ResultFile::keep(size_t i, int64_t index) {
  require(i < earlier_.size(), "keeps a row that no earlier run has written");
  require(written_ == 0, "keeps earlier rows before it writes its own");
  pieces_.push_back({index, earlier_[i].offset, earlier_[i].size});
}

void ResultFile::write(int64_t index, std::string_view row) {
  std::string line(row);
  line += '\n';
  ssize_t put = -1;
  do {
    put = ::pwrite(journal_, line.data(), line.size(), end_);
  } while (put < 0 && errno == EINTR);
  const auto size = static_cast<int64_t>(line.size());
  if (put != size) {
    if (put >= 0) errno = ENOSPC;  // a short write to a file means that there is no room for the rest
    const Error error = cannot("write a result line to", journal_path_);
    if (::ftruncate(journal_, end_) != 0) {
      throw Error(error.code(), fmt::format("{}; its last line is torn", error.what()));
    }
    throw error;
  }
  pieces_.push_back({index, end_, size});
  end_ += size;
  ++written_;
}

bool ResultFile::sync_if_due(Clock::time_point now) {
  if (now - synced_at_ < kSyncPeriod || synced_end_ == end_) return false;
  if (::fdatasync(journal_) != 0) throw cannot("make durable", journal_path_);
  if (synced_end_ == 0) sync_folder_of(journal_path_);  // its name, too
  synced_at_ = now;
  synced_end_ = end_;
  return true;
}

void ResultFile::copy_pieces(int target, const std::vector<Piece>& pieces, const std::string& name) const {
  WindowReader journal(journal_);
  std::string block;
  for (const Piece& piece : pieces) {
    const size_t start = block.size();
    block.resize(start + static_cast<size_t>(piece.size));
    if (!journal.read(block.data() + start, piece.size, piece.offset)) throw cannot("read back", journal_path_);
    if (static_cast<int64_t>(block.size()) < kBlockBytes) continue;
    write_all(target, block, name);
    block.clear();
  }
  write_all(target, block, name);
}

/// OUT made of these pieces; the journal loses its name.
void ResultFile::write_output(const std::vector<Piece>& pieces) {
  const std::string sorted_path = path_ + ".sorted";
  const int sorted = ::open(sorted_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (sorted < 0) throw cannot("create", sorted_path);
  try {
    copy_pieces(sorted, pieces, sorted_path);
    if (::fsync(sorted) != 0) throw cannot("make durable", sorted_path);
  } catch (...) {
    ::close(sorted);
    ::unlink(sorted_path.c_str());  // it may be the lack of room that stopped it; the journal has all rows
    throw;
  }
  ::close(sorted);
  if (::rename(sorted_path.c_str(), path_.c_str()) != 0) throw cannot("rename to", path_);
  sync_folder_of(path_);
  ::unlink(journal_path_.c_str());
}

void ResultFile::finish(bool unordered) {
  const auto earlier_kept = static_cast<int64_t>(pieces_.size()) - written_;
  const bool superseded = earlier_kept < static_cast<int64_t>(earlier_.size());
  if (unordered && !superseded) {
    if (::fsync(journal_) != 0) throw cannot("make durable", journal_path_);
    if (::rename(journal_path_.c_str(), path_.c_str()) != 0) throw cannot("rename to", path_);
    sync_folder_of(path_);
  } else {
    std::vector<Piece> pieces = pieces_;
    std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
      return unordered ? a.offset < b.offset : a.index < b.index;
    });
    write_output(pieces);
  }
  ::close(journal_);
  journal_ = -1;
}

}  // namespace octet
