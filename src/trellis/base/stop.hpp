#pragma once
/// This is the one way in which a loop that lasts is ended early: by Ctrl-C in Python, a signal handler, a
/// thread.
///
/// A request belongs to one process until a global sum (Communicator::sum) or stop_together() carries it to
/// all ranks of the job. From then on all ranks have an agreed stop, and the next stop_point() throws
/// Interrupted on each of them: in the same iteration, also where only one rank was asked.
///   A loop with global sums calls stop_point() after one of them: that costs no message.
///   A loop without sums calls stop_together() (comm/stop_together.hpp) once a step.
/// A stop point lies where everything that outlives the call can be used again: no exchange is under way, and
/// a field of the caller is whole.
#include <exception>

namespace trellis {

/// All ranks throw it together. It is no Error: nothing is wrong, and nothing that mends errors may take it.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Asks all ranks to stop. Signal handlers and any thread may call it. Returns false where one request
/// already waits.
bool request_stop() noexcept;

/// Throws Interrupted if a stop is agreed, which it then is no longer.
void stop_point();

/// Returns whether a stop is agreed, which it then is no longer. Callers that make another exception of it
/// use this.
bool take_agreed_stop() noexcept;

/// Returns whether this rank has a request, which it then has no longer. Communicators of all ranks call it.
bool take_stop_request();
/// Agrees to a stop. Communicators of all ranks call it after some rank had a request.
void agree_to_stop();

/// The process around the library wants to be asked and told this; a null pointer asks and tells nothing.
struct StopHooks {
  bool (*is_wanted)() = nullptr;  ///< is asked in every global sum and has to be quick
  void (*is_agreed)() = nullptr;  ///< all ranks have learnt of a request
};
void set_stop_hooks(const StopHooks& hooks);

}  // namespace trellis
