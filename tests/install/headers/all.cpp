// Every C++ header at once, as a program with many warnings compiles them.
#include <comity/core.hpp>
#include <comity/fork.hpp>
#include <comity/pool.hpp>
#include <comity/scheduler.hpp>
#include <comity/sync.hpp>
#include <comity/sync/future.hpp>
#include <comity/sync/timer.hpp>
#include <comity/thread.hpp>

comity::future<int> sum(comity::future<int> a, comity::future<int> b) { co_return co_await a + co_await b; }
bool was_cancelled(const void *result) { return result == COMITY_THREAD_CANCELLED; }
template class comity::future<int>;
