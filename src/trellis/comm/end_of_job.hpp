#pragma once
/// A rank ends so that the others do not wait for it for ever, and it ends quietly if they come to their end
/// too.

namespace trellis {

/// Returns whether this process is one of several ranks that have begun to communicate; it starts nothing.
bool is_one_of_several_ranks();

/// Waits until all ranks have called this. The first call counts; in a single process it returns at once.
/// After another status than 0 it waits for 5 s at most and then ends the job with that status (MPI_Abort).
/// After 0 it waits on, and says on standard error after 60 s (TRELLIS_END_SECONDS) which ranks have ended
/// and which have not. exit() calls this by itself; earlier is better where destructors are collective.
void end_rank(int status);

}  // namespace trellis
