/// Ctrl-C works while the library computes: Python's signal handlers run in global sums, and what they raise
/// ends the call on all ranks (base/stop.hpp).
#include <atomic>

#include "bindings.hpp"
#include "trellis/base/clock.hpp"
#include "trellis/base/stop.hpp"
#include "trellis/comm/stop_together.hpp"

namespace trellis::bindings {

namespace {
/// A rank looks again after so many seconds. A look takes the GIL, for which another thread of Python may let
/// it wait for some milliseconds.
constexpr double between_looks = 0.1;
/// One Ctrl-C reaches all ranks within this time: of a rank that has stopped with the others it asks nothing.
constexpr double same_request = 1, long_ago = -1e9;

// All of these are used with the GIL alone. raised_here is what a handler of this rank has raised; it is
// never freed at exit, when Python is gone.
nb::python_error* raised_here = nullptr;
bool was_asked_here = false;
double stopped_for_others = long_ago;

/// Handlers run in the main thread alone; elsewhere, and without a signal, this does nothing.
bool handlers_raise() {
  static std::atomic<double> last_look{long_ago};
  const double now = seconds_now();
  if (now - last_look.load(std::memory_order_relaxed) < between_looks) return false;
  last_look.store(now, std::memory_order_relaxed);
  if (!Py_IsInitialized()) return false;
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  auto* error = new nb::python_error();
  if (raised_here == nullptr)
    raised_here = error;
  else
    delete error;
  return true;
}

/// A call that came to no stop point ends as if it were interrupted right behind its end, on all ranks alike.
int raise_behind_call(void*) {
  if (!take_agreed_stop()) return 0;
  raise_interruption();
  return -1;
}

void expect_interruption() { Py_AddPendingCall(raise_behind_call, nullptr); }

/// Serves a handler of Python; returns false if a request waits already.
bool request() {
  if (seconds_now() - stopped_for_others < same_request) {
    stopped_for_others = long_ago;
    return true;
  }
  was_asked_here = true;
  return request_stop();
}
}  // namespace

void raise_interruption() noexcept {
  const bool is_own = raised_here != nullptr || was_asked_here;
  was_asked_here = false;
  if (!is_own) stopped_for_others = seconds_now();
  if (raised_here == nullptr) {
    PyErr_SetString(PyExc_KeyboardInterrupt, is_own ? "" : "another rank was interrupted");
    return;
  }
  nb::python_error* error = raised_here;
  raised_here = nullptr;
  error->restore();
  delete error;
}

void bind_interruption(nb::module_& m) {
  set_stop_hooks({handlers_raise, expect_interruption});
  m.def("request_stop", request,
        "Asks all ranks to end what they compute; false if a request waits already.");
  m.def(
      "stop_together", [] { stop_together(*world()); }, release_gil(),
      "Raises KeyboardInterrupt on all ranks if one was asked to stop. Collective.");
}

}  // namespace trellis::bindings
