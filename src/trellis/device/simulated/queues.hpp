#pragma once
/// A simulated GPU has queues of work. Without a schedule work runs at once. With one it runs as late as
/// waits allow, or somewhat earlier, and the queues take turns at random: whoever forgets to wait finds old
/// numbers under some schedule. The seed of a schedule comes from TRELLIS_SIMULATE_SEED, or from a test.
#include <cstdint>
#include <functional>
#include <optional>

namespace trellis::cuda::simulated {

constexpr int main_queue = 0;

int make_queue();
/// Removes a queue. What it holds runs first. @pre it is not the main queue
void remove_queue(int queue);
/// Returns the queue of launches: that of the innermost Stream::Scope, else the main one.
int launch_queue();
void set_launch_queue(int queue);

/// Puts work behind what the queue holds.
void submit(int queue, std::function<void()> work);
/// Makes work that comes to the queue from here on run after the work that the other one holds now.
void order_behind(int queue, int other);
/// Runs what the queue holds now, and what that waits for, as a GPU does in time; the host waits for nothing.
void run_what_it_holds(int queue);
/// Lets the host wait for what the queue holds now.
void wait_for(int queue);
void wait_for_all();

/// Runs all that is left, then goes on with this schedule, or with none.
void set_schedule(std::optional<uint64_t> seed);
bool has_schedule();
/// Returns a random number of the schedule. @pre there is one
uint64_t random_number();

/// A test can leave out one of these waits of a stream, to see whether the schedules find it.
enum class StreamWait { none, follow_main, precede_main, wait };
void leave_out(StreamWait wait);
bool is_left_out(StreamWait wait);

}  // namespace trellis::cuda::simulated
