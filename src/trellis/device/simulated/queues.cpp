#include "trellis/device/simulated/queues.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "trellis/base/environment.hpp"
#include "trellis/device/simulated/device_memory.hpp"
#include "trellis/device/simulated/windows.hpp"

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
  std::map<int, uint64_t> behind;  ///< what it has done came behind so many pieces of others
};

struct Schedule {
  explicit Schedule(uint64_t seed) : random{seed} {
    constexpr double eagerness[] = {0, 0.2, 0.6};  // a piece that nobody waits for runs so often
    chance = eagerness[random() % 3];
    chance_of_arrival = eagerness[random() % 3];
  }
  bool is_eager() { return double(random() >> 11) * 0x1p-53 < chance; }
  std::mt19937_64 random;
  double chance, chance_of_arrival;
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
  static State& all = [] -> State& {
    State& made = *new State;  // it outlives fields in static storage
    delay_writes(made.schedule.has_value());
    return made;
  }();
  return all;
}
}  // namespace

uint64_t random_number() { return state().schedule->random(); }

namespace {
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

/// Runs a piece of a queue. What it writes to other processes is then on its way.
void run_piece(int number, uint64_t piece, const std::function<void()>& work) {
  const DeviceMemoryAccess access;
  read_windows();
  work();
  take_writes(number, piece);
}

/// Notes that a queue comes behind so many pieces of another one, and behind what that one came behind.
void note_order(Queue& queue, int number, uint64_t count) {
  const auto raise = [&queue](int other, uint64_t to) {
    uint64_t& known = queue.behind[other];
    known = std::max(known, to);
  };
  raise(number, count);
  if (const auto other = state().queues.find(number); other != state().queues.end())
    for (const auto& [further, pieces] : other->second.behind) raise(further, pieces);
}

/// Runs the first piece. @pre nothing blocks it
void step(int number, Queue& queue) {
  const Piece piece = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  if (piece.other >= 0) note_order(queue, piece.other, piece.count);
  if (piece.work) run_piece(number, queue.done, piece.work);
  ++queue.done;
  deliver_some(state().schedule->chance_of_arrival, random_number);
}

/// Runs some pieces that nobody waits for.
void run_eagerly() {
  while (state().schedule->is_eager()) {
    std::vector<int> ready;
    for (auto& [number, queue] : state().queues)
      if (!queue.waiting.empty() && blocking(queue) < 0) ready.push_back(number);
    if (ready.empty()) return;
    const int chosen = ready[random_number() % ready.size()];
    step(chosen, state().queues.at(chosen));
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
      step(number, queue);
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

void run_what_it_holds(int queue) {
  if (state().schedule) run_until(queue, state().queues.at(queue).submitted);
}

void wait_for(int queue) {
  if (!state().schedule) return;
  run_what_it_holds(queue);
  std::map<int, uint64_t> over = state().queues.at(queue).behind;
  over[queue] = state().queues.at(queue).done;
  deliver(over, random_number);
}

void wait_for_all() {
  for (const auto& entry : state().queues) wait_for(entry.first);
}

void set_schedule(std::optional<uint64_t> seed) {
  wait_for_all();
  if (state().schedule) deliver_some(1, random_number);  // those of queues that are gone
  state().schedule.reset();
  if (seed) state().schedule.emplace(*seed);
  delay_writes(seed.has_value());
}

bool has_schedule() { return state().schedule.has_value(); }

void leave_out(StreamWait wait) { state().left_out = wait; }
bool is_left_out(StreamWait wait) { return wait != StreamWait::none && state().left_out == wait; }

}  // namespace trellis::cuda::simulated
