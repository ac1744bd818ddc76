#pragma once
/// Here files cannot grow: a rank sees this whose node has no memory to share.
#include <sys/resource.h>

#include <csignal>

namespace trellis::test {

/// No file of this process grows as long as this lives.
class WithoutSpace {
 public:
  WithoutSpace() : handler_{std::signal(SIGXFSZ, SIG_IGN)} {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  WithoutSpace(const WithoutSpace&) = delete;
  WithoutSpace& operator=(const WithoutSpace&) = delete;
  ~WithoutSpace() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_;
};

}  // namespace trellis::test
