// A scheduler in the tree in a few dozen lines: a queue of functions, run by every hart that the parent grants.
#include <comity/core.hpp>

#include <atomic>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>

class queue_scheduler : public comity::scheduler {
  public:
    // Any hart of this scheduler.
    void submit(std::function<void()> job) {
        {
            const std::lock_guard lock(m_);
            jobs_.push_back(std::move(job));
            ++open_;
        }
        request_for_this(1); // the parent may grant it, or not
    }

    // The context that registered this: works too, until all jobs are done.
    void finish() {
        while (run_one() || open_ != 0)
            ;
    }

  protected:
    // A hart comes in: it works on this hart's transition context, which is enough for jobs that never stop.
    void on_enter() override {
        while (run_one())
            ;
        yield_to_parent();
    }
    void on_yield(comity_sched_t *) override { yield_to_parent(); }
    void on_block(comity_context_t *) override { yield_to_parent(); }
    void on_unblock(comity_context_t *) override {}

  private:
    bool run_one() {
        std::function<void()> job;
        {
            const std::lock_guard lock(m_);
            if (jobs_.empty())
                return false;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
        --open_;
        return true;
    }

    std::mutex m_;
    std::deque<std::function<void()>> jobs_;
    std::atomic<int> open_{0};
};

int main() {
    queue_scheduler s;
    s.register_here(); // below the base scheduler, with this thread's hart
    std::atomic<long> sum{0};
    for (long i = 1; i <= 1000; ++i)
        s.submit([&sum, i] { sum += i; });
    s.finish();
    comity::scheduler::unregister(); // waits until every hart has gone
    std::printf("sum %ld on up to %d harts\n", sum.load(), comity::hart_count());
    return sum == 500500 ? 0 : 1;
}
