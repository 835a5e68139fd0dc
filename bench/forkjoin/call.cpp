// The floor: N calls through a pointer, each with a descriptor from a free list that goes back when it is "joined".
#include "forkjoin.hpp"

namespace {

struct descriptor {
    descriptor *next;
    void (*function)(descriptor *);
};

[[gnu::noinline]] void body(descriptor *) { bench::forkjoin::count_body(); }

class kit {
public:
    static constexpr bool can_yield = false, is_ordered = true;
    static constexpr std::size_t most = 65536;

    kit() {
        for (descriptor &one : store_) give_back(&one);
    }
    void round(const unsigned char *, std::size_t n, bool reverse) {
        for (std::size_t i = 0; i < n; ++i) {
            made_[i] = free_;
            free_ = free_->next;
            made_[i]->function = function_;
        }
        if (reverse)
            for (std::size_t i = n; i-- > 0;) join(i);
        else
            for (std::size_t i = 0; i < n; ++i) join(i);
    }

private:
    void give_back(descriptor *one) {
        one->next = free_;
        free_ = one;
    }
    void join(std::size_t i) {
        made_[i]->function(made_[i]);
        give_back(made_[i]);
    }

    std::vector<descriptor> store_ = std::vector<descriptor>(most);
    std::vector<descriptor *> made_ = std::vector<descriptor *>(most);
    descriptor *free_ = nullptr;
    void (*volatile function_)(descriptor *) = body;
};

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<kit>(options, "call", [](int, auto f) { f(); });
}
