// Regions that make no progress: every hart in them is with a rank that waits, without telling Comity, for one that has
// no hart. Whoever watches finds them, and their waiting ranks go on on kernel threads of their own (design rule 4).
// Protocol "Watch": README.md.
#pragma once

namespace comity::spmd {

class team;

// A team is known to the watch from its making to its end.
void enlist(team *t) noexcept;
void delist(team *t) noexcept;

// A region has begun with ranks for which there is no hart; after a fence that follows the filling of the slots. Any
// thread; never switches.
void keep_watch() noexcept;

} // namespace comity::spmd
