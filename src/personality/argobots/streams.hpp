// The scheduler of all streams in Comity's tree: a stream is a context (its main scheduler's), and runs on whichever
// hart is free until it has nothing to do. Protocols: README.md.
#pragma once

#include "core/binding.hpp"
#include "core/child_list.hpp"
#include "core/sched.hpp"
#include "personality/argobots/object.hpp"

#include <atomic>

namespace comity::abt {

class streams : public core::sched {
public:
    // Registers it with the calling context, which becomes the main ULT. Null: no memory. May switch.
    static streams *open() noexcept;
    // Ends it; the context that opened it, when all other streams have ended. May switch.
    void close() noexcept;

    // The stream whose context this is, or one that waits in place, may go on. Any thread.
    void make_ready(context *c) noexcept;
    // Does anybody else wait for the calling hart: a stream, the main ULT, a child in the tree?
    bool others_wait(const carrier *k) const noexcept {
        return !ready_.empty() || !children_.empty() || core::home_ready(k, this);
    }
    // Is there reason for the stream to let go of its hart now? Cheap; `since` is when it got it.
    bool should_rotate(const carrier *k, std::uint64_t since) noexcept;
    // The carrier runs where the stream, with which it goes on, shall run.
    static void go_to_place(carrier *k, const stream *s) noexcept {
        if (const stream_place *p = s->place.load(std::memory_order_acquire)) // acquire[abt-place]
            core::run_on(k, &p->cpus, p->id);
        else
            leave_place(k);
    }
    // Stops the calling context and lets others have the hart; it goes on in its turn. Switches.
    void rotate() noexcept;

    // The main ULT's thread of the program ("The main ULT": README.md). It is about to stop, saved or not:
    void main_stops() noexcept { main_.store(main_waiting, std::memory_order_release); } // release[abt-main]
    // After it has been resumed: returns when it may go on, else stops again.
    void main_goes_on() noexcept;
    // On its own thread: the caller will switch to it.
    void claim_main(carrier *k) noexcept;
    // On another one: gives it its turn. It is saved.
    void send_main() noexcept;

    [[noreturn]] void next(carrier *k) noexcept;
    void child_wants(core::sched *child) noexcept;
    void child_ends(core::sched *child) noexcept { children_.forget(child); }

    unsigned harts() const noexcept { return harts_; }

    context *main_context = nullptr; // who opened it
    stream *primary = nullptr;

private:
    void main_waits() noexcept;
    void go_home(carrier *k) noexcept;
    void enter_child(carrier *k) noexcept;
    // The carrier goes on with something that is no stream's.
    static void leave_place(carrier *k) noexcept {
        if (k->bound) core::run_on(k, nullptr, 0);
    }
    context *pop_ready(bool primary_only) noexcept;
    bool keeps_to_primary(const carrier *k) const noexcept;
    void enqueue(context *c) noexcept;
    void call_hart() noexcept;
    bool wait_for_work(carrier *k) noexcept;
    bool should_give_way(carrier *k) noexcept;
    bool poke_main() noexcept;

    static constexpr std::uint32_t main_runs = 0, main_waiting = 1, main_posted = 2, main_turn = 4;

    unsigned harts_ = 1;
    core::child_list children_;
    core::spinlock lock_;
    sys::counted_list<context> ready_;           // under lock_; size, empty: anybody
    std::atomic<std::uint32_t> main_{main_runs}; // waiting: by the main ULT; posted, turn: by others
    bool main_direct_ = false;                   // claim_main tells main_goes_on; on its own thread
    std::atomic<unsigned> turns_{0};             // a hint, written by all
};

// The one that exists between ABT_init and ABT_finalize, or null.
extern std::atomic<streams *> all_streams;
inline streams *the_streams() noexcept { return all_streams.load(std::memory_order_acquire); } // acquire[abt-init]

} // namespace comity::abt
