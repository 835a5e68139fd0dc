// A small scheduler on the public interface: a queue of contexts that may go on, functions to start in contexts of
// their own, children that want harts.
#pragma once

#include "comity/core.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

class test_scheduler : public comity::scheduler {
public:
    struct counts {
        std::atomic<int> enter{0}, yield{0}, block{0}, unblock{0}, request{0}, registered{0}, unregistered{0};
    };
    counts seen;

    // Starts f in a context of its own, on whichever hart comes first. Any context of this scheduler.
    void start(std::function<void()> f) {
        auto t = std::make_unique<task>();
        t->f = std::move(f);
        t->scheduler = this;
        {
            const std::lock_guard lock(m_);
            ++unfinished_;
            fresh_.push_back(t.get());
            tasks_.push_back(std::move(t));
        }
        request_for_this(comity::hart_count());
    }

    // Blocks the calling context until all that was started has ended.
    void wait_for_all() {
        comity::pause([this](comity_context_t *c) {
            bool wait = false;
            {
                const std::lock_guard lock(m_);
                wait = unfinished_ != 0;
                if (wait) waiter_ = c;
            }
            if (wait) comity_context_block(c);
            comity_context_resume(c);
        });
    }

    // Lets others run.
    void take_turns() {
        comity::pause([this](comity_context_t *c) {
            {
                const std::lock_guard lock(m_);
                ready_.push_back(c);
            }
            next();
        });
    }

protected:
    void on_enter() override {
        ++seen.enter;
        next();
    }
    void on_yield(comity_sched_t *) override {
        ++seen.yield;
        next();
    }
    void on_block(comity_context_t *) override {
        ++seen.block;
        next();
    }
    void on_unblock(comity_context_t *c) override {
        ++seen.unblock;
        {
            const std::lock_guard lock(m_);
            ready_.push_back(c);
        }
        request_for_this(1);
    }
    void on_request(comity_sched_t *child, int harts) override {
        ++seen.request;
        {
            const std::lock_guard lock(m_);
            wanting_.push_back(child);
        }
        request_for_this(harts);
    }
    void on_register(comity_sched_t *) override { ++seen.registered; }
    void on_unregister(comity_sched_t *child) override {
        ++seen.unregistered;
        const std::lock_guard lock(m_);
        std::erase(wanting_, child);
    }

private:
    struct task {
        std::function<void()> f;
        comity::context context{comity_context_attr_t{256 * 1024, 0}};
        test_scheduler *scheduler = nullptr;
    };

    static void run(void *argument) {
        auto *t = static_cast<task *>(argument);
        t->f();
        comity_context_exit([](comity_context_t *, void *ended) { static_cast<task *>(ended)->scheduler->finished(); },
                            t);
    }

    [[noreturn]] void finished() {
        comity_context_t *waiter = nullptr;
        {
            const std::lock_guard lock(m_);
            if (--unfinished_ == 0) std::swap(waiter, waiter_);
        }
        if (waiter) comity_context_unblock(waiter);
        next();
    }

    [[noreturn]] void next() {
        comity_context_t *c = nullptr;
        task *t = nullptr;
        comity_sched_t *child = nullptr;
        {
            const std::lock_guard lock(m_);
            if (!ready_.empty()) {
                c = ready_.front();
                ready_.pop_front();
            } else if (!fresh_.empty()) {
                t = fresh_.front();
                fresh_.pop_front();
            } else {
                while (!child && !wanting_.empty()) {
                    if (comity_sched_reserve(wanting_.back()))
                        child = wanting_.back();
                    else
                        wanting_.pop_back();
                }
            }
        }
        if (c) comity_context_resume(c);
        if (t) t->context.run(run, t);
        if (child) comity_sched_enter(child);
        yield_to_parent();
    }

    std::mutex m_; // never held across a switch
    std::deque<comity_context_t *> ready_;
    std::deque<task *> fresh_;
    std::vector<comity_sched_t *> wanting_;
    std::vector<std::unique_ptr<task>> tasks_;
    comity_context_t *waiter_ = nullptr;
    int unfinished_ = 0;
};
