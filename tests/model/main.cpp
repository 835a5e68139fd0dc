// comity_models              lists the models and their bugs
// comity_models NAME         0 when the protocol holds in all executions searched and each of its seeded bugs is found
// comity_models NAME BUG     only the search with that bug; COMITY_MODEL_VERBOSE=1 shows the execution that fails
#include <sys/wait.h>
#include <unistd.h>

#include "checker.hpp"

namespace model {

int seed = 0;

std::vector<program> &programs() {
    static std::vector<program> all;
    return all;
}

} // namespace model

namespace {

// Searches in a process of its own: what an execution that fails leaves behind is of no matter to the next search.
bool as_expected(const model::program &p, int bug) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        model::seed = bug;
        const char *found = p.search(p.size);
        std::printf("%s%s%s: %s\n", p.name, bug ? " with " : "", bug ? p.bugs[static_cast<unsigned>(bug) - 1] : "",
                    found ? found : "holds");
        std::fflush(stdout);
        _exit((found != nullptr) == (bug != 0) ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run(const model::program &p, const char *only) {
    bool good = only || as_expected(p, 0), known = !only;
    for (unsigned i = 0; i < p.bugs.size(); ++i) {
        if (*p.bugs[i] == 0 || (only && std::strcmp(only, p.bugs[i]))) continue;
        known = true;
        good = as_expected(p, static_cast<int>(i) + 1) && good;
    }
    if (!known) std::fprintf(stderr, "%s: no bug is called %s\n", p.name, only);
    return !known ? 2 : good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 1) {
        for (const auto &p : model::programs())
            for (const char *bug : p.bugs)
                if (*bug) std::printf("%s %s\n", p.name, bug);
        return 0;
    }
    for (const auto &p : model::programs())
        if (!std::strcmp(p.name, argv[1])) return run(p, argc > 2 ? argv[2] : nullptr);
    std::fprintf(stderr, "no model is called %s\n", argv[1]);
    return 2;
}
