#include "trellis/device/simulated/queues.hpp"

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "trellis/base/environment.hpp"
#include "trellis/device/simulated/device_memory.hpp"

namespace trellis::cuda::simulated {

namespace {

/// A piece is work, or a mark that another queue has done so many pieces.
struct Piece {
  std::function<void()> work;
  int other = -1;
  uint64_t count = 0;
};

struct Queue {
  std::deque<Piece> waiting;
  uint64_t submitted = 0, done = 0;
};

struct Schedule {
  explicit Schedule(uint64_t seed) : random{seed} {
    constexpr double eagerness[] = {0, 0.2, 0.6};  // a piece that nobody waits for runs so often
    chance = eagerness[random() % 3];
  }
  bool is_eager() { return double(random() >> 11) * 0x1p-53 < chance; }
  std::mt19937_64 random;
  double chance;
};

std::optional<Schedule> schedule_of_environment() {
  if (const auto seed = environment_number("TRELLIS_SIMULATE_SEED", 0, 1000000000))
    return Schedule(uint64_t(*seed));
  return std::nullopt;
}

struct State {
  std::map<int, Queue> queues{{main_queue, {}}};
  std::optional<Schedule> schedule = schedule_of_environment();
  StreamWait left_out = StreamWait::none;
  int next = 1, of_launches = main_queue;
};
State& state() {
  static State& all = *new State;  // it outlives fields in static storage
  return all;
}

/// Returns the queue that a mark waits for, and -1 if the first piece can run.
int blocking(const Queue& queue) {
  const Piece& first = queue.waiting.front();
  if (first.other < 0) return -1;
  const auto other = state().queues.find(first.other);
  return other != state().queues.end() && other->second.done < first.count ? first.other : -1;
}

void run(const std::function<void()>& work) {
  const DeviceMemoryAccess access;
  work();
}

/// Runs the first piece. @pre nothing blocks it
void step(Queue& queue) {
  const Piece piece = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  if (piece.work) run(piece.work);
  ++queue.done;
}

/// Runs some pieces that nobody waits for.
void run_eagerly() {
  while (state().schedule->is_eager()) {
    std::vector<Queue*> ready;
    for (auto& [number, queue] : state().queues)
      if (!queue.waiting.empty() && blocking(queue) < 0) ready.push_back(&queue);
    if (ready.empty()) return;
    step(*ready[state().schedule->random() % ready.size()]);
  }
}

/// Runs the pieces of a queue until `count` are done, and of other queues what they wait for. Each turn looks
/// anew: eager pieces that ran in between may be those of this queue.
void run_until(int number, uint64_t count) {
  Queue& queue = state().queues.at(number);
  while (queue.done < count) {
    if (const int other = blocking(queue); other >= 0) {
      run_until(other, queue.waiting.front().count);
    } else {
      step(queue);
      run_eagerly();
    }
  }
}

void put(int number, Piece piece) {
  Queue& queue = state().queues.at(number);
  queue.waiting.push_back(std::move(piece));
  ++queue.submitted;
  run_eagerly();
}

}  // namespace

int make_queue() {
  state().queues[state().next];
  return state().next++;
}

void remove_queue(int queue) {
  wait_for(queue);
  state().queues.erase(queue);
}

int launch_queue() { return state().of_launches; }
void set_launch_queue(int queue) { state().of_launches = queue; }

void submit(int queue, std::function<void()> work) {
  if (!state().schedule) return run(work);
  put(queue, {std::move(work)});
}

void order_behind(int queue, int other) {
  if (!state().schedule) return;
  put(queue, {nullptr, other, state().queues.at(other).submitted});
}

void wait_for(int queue) {
  if (state().schedule) run_until(queue, state().queues.at(queue).submitted);
}

void wait_for_all() {
  for (const auto& entry : state().queues) wait_for(entry.first);
}

void set_schedule(std::optional<uint64_t> seed) {
  wait_for_all();
  state().schedule.reset();
  if (seed) state().schedule.emplace(*seed);
}

bool has_schedule() { return state().schedule.has_value(); }

void leave_out(StreamWait wait) { state().left_out = wait; }
bool is_left_out(StreamWait wait) { return wait != StreamWait::none && state().left_out == wait; }

}  // namespace trellis::cuda::simulated
