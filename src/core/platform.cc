#include "core/platform.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "core/error.h"

namespace etrt::platform {
namespace {

std::string reason(int error_number) { return std::generic_category().message(error_number); }

// Cores by affinity; 0 when unknown.
size_t affinity_cores() {
#if defined(__linux__)
  for (size_t capacity = 1024; capacity <= (1U << 16); capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) {
      return 0;
    }
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    const int error = sched_getaffinity(0, bytes, set) == 0 ? 0 : errno;
    const int count = error == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (error != EINVAL) {  // EINVAL: the kernel's mask is larger
      return static_cast<size_t>(std::max(count, 0));
    }
  }
#endif
  return 0;
}

// Cores' worth of time per period that control group directory `dir` allows, rounded up; 0 for no limit.
size_t quota_of(const std::string& dir) {
  std::string quota;
  double period = 0;
  if (std::ifstream(dir + "/cpu.max") >> quota >> period && quota != "max" && period > 0) {
    const double cores = std::strtod(quota.c_str(), nullptr) / period;
    return cores > 0 && cores < 1e6 ? static_cast<size_t>(cores + 0.999) : 0;
  }
  return 0;
}

// The tightest CPU quota of this process's control group and the groups around it; 0 for no limit.
size_t quota_cores() {
  size_t least = 0;
#if defined(__linux__)
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::/", 0) != 0) {
      continue;
    }
    std::string path = line.substr(3);
    for (;;) {
      const size_t quota = quota_of("/sys/fs/cgroup" + path);
      if (quota != 0 && (least == 0 || quota < least)) {
        least = quota;
      }
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos) {
        break;
      }
      path.resize(slash);
    }
  }
#endif
  return least;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

size_t usable_cores() {
  size_t cores = affinity_cores();
  if (cores == 0) {
    cores = std::max(1U, std::thread::hardware_concurrency());
  }
  const size_t quota = quota_cores();
  return quota != 0 ? std::min(cores, quota) : cores;
}

void at_fork_in_child(void (*handler)()) { pthread_atfork(nullptr, nullptr, handler); }

struct SignalsBlocked::Mask {
  sigset_t set;
};

SignalsBlocked::SignalsBlocked() : before_(std::make_unique<Mask>()) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_->set);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_->set, nullptr); }

void name_this_thread(const char* name) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name);
#else
  static_cast<void>(name);
#endif
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Not blocking: opening a pipe that nobody writes to must not hang.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int error = errno;
    return fail(Status::AccessFailed, "can't open \"{}\": {}", path, reason(error));
  }
  struct stat facts = {};
  if (::fstat(file.get(), &facts) != 0) {
    const int error = errno;
    return fail(Status::AccessFailed, "can't read \"{}\": {}", path, reason(error));
  }
  if (S_ISDIR(facts.st_mode)) {
    return fail(Status::AccessFailed, "\"{}\" is a directory; give the path of a file", path);
  }
  if (!S_ISREG(facts.st_mode)) {
    return fail(Status::AccessFailed, "\"{}\" is not a regular file; read it and load the bytes from memory", path);
  }
  const auto size = static_cast<size_t>(facts.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      return fail(Status::AccessFailed, "can't map the {} bytes of \"{}\": {}", size, path, reason(error));
    }
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

namespace {
// Below this, pages would waste more than they save.
constexpr size_t kPagedFrom = size_t{64} * 1024;
constexpr std::align_val_t kAlignment{64};
}  // namespace

void* allocate_zeroed(size_t size) {
  if (size >= kPagedFrom) {
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
  }
  void* memory = ::operator new(size, kAlignment, std::nothrow);
  if (memory != nullptr) {
    std::memset(memory, 0, size);
  }
  return memory;
}

void free_zeroed(void* memory, size_t size) {
  if (size >= kPagedFrom) {
    munmap(memory, size);
  } else {
    ::operator delete(memory, kAlignment);
  }
}

}  // namespace etrt::platform
