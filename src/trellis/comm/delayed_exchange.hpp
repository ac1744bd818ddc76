#pragma once
/// Tests make the network slower than this machine's: messages of exchanges then arrive late.
#include <memory>

#include "trellis/comm/communicator.hpp"

namespace trellis {

/// Returns the seconds between the start of an exchange of the message-passing library and the arrival of its
/// messages, at least; with 0 they take as long as they do. At the start it is the environment variable
/// TRELLIS_MESSAGE_DELAY, in microseconds up to a second (other words throw BadArgument). Messages in memory
/// that ranks share know no delay.
double message_delay();
/// Delays exchanges made from now on. @pre seconds >= 0
void set_message_delay(double seconds);

/// Returns the same exchange, delayed by message_delay().
std::unique_ptr<Exchange> make_delayed_exchange(std::unique_ptr<Exchange> exchange);

}  // namespace trellis
