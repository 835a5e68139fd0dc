// The message queues of POSIX: their calls may sleep, and are cancellation points.
#include "personality/pthread/threads/library_call.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"

#include <mqueue.h>
#include <poll.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<ssize_t (*)(mqd_t, char *, std::size_t, unsigned *)> next_receive{"mq_receive"};
COMITY_NEXT_SYMBOL next<ssize_t (*)(mqd_t, char *, std::size_t, unsigned *, const timespec *)> next_timedreceive{
    "mq_timedreceive"};
COMITY_NEXT_SYMBOL next<int (*)(mqd_t, const char *, std::size_t, unsigned)> next_send{"mq_send"};
COMITY_NEXT_SYMBOL next<int (*)(mqd_t, const char *, std::size_t, unsigned, const timespec *)> next_timedsend{
    "mq_timedsend"};

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

// A queue's descriptor is one of the kernel's, of which `poll` tells the same as of others.
COMITY_INTERPOSED ssize_t mq_receive(mqd_t queue, char *to, std::size_t size, unsigned *priority) {
    return if_it_sleeps([=] { return would_sleep(queue, POLLIN); },
                        [=] { return next_receive.get()(queue, to, size, priority); });
}
COMITY_INTERPOSED ssize_t mq_timedreceive(mqd_t queue, char *to, std::size_t size, unsigned *priority,
                                          const timespec *deadline) {
    return if_it_sleeps([=] { return would_sleep(queue, POLLIN); },
                        [=] { return next_timedreceive.get()(queue, to, size, priority, deadline); });
}
COMITY_INTERPOSED int mq_send(mqd_t queue, const char *from, std::size_t size, unsigned priority) {
    return if_it_sleeps([=] { return would_sleep(queue, POLLOUT); },
                        [=] { return next_send.get()(queue, from, size, priority); });
}
COMITY_INTERPOSED int mq_timedsend(mqd_t queue, const char *from, std::size_t size, unsigned priority,
                                   const timespec *deadline) {
    return if_it_sleeps([=] { return would_sleep(queue, POLLOUT); },
                        [=] { return next_timedsend.get()(queue, from, size, priority, deadline); });
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
