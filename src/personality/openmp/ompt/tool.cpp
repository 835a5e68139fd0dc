// Finding a tool, when the process uses OpenMP for the first time, and its end.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>

#include "comity/version.h"
#include "core/callbacks.hpp"
#include "personality/openmp/check.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/ompt/data.hpp"
#include "sys/c_library.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

namespace comity::openmp::ompt {

std::atomic<search> found{search::pending};
std::atomic<any_function> callbacks[last_event + 1];
std::size_t task_room = 0;

namespace {

start_result *tool = nullptr; // written by settle_search

// OMP_TOOL_VERBOSE_INIT: where the search is reported. The words are those of LLVM's runtime, which scripts know.
class report {
public:
    report() noexcept {
        const char *where = openmp::look_up("OMP_TOOL_VERBOSE_INIT");
        if (!where || !*where || !::strcasecmp(where, "disabled")) return;
        if (!::strcasecmp(where, "stdout"))
            file_ = stdout;
        else if (!::strcasecmp(where, "stderr"))
            file_ = stderr;
        else if (!(file_ = opened_ = std::fopen(where, "w")))
            sys::warn("OMP_TOOL_VERBOSE_INIT=\"%s\": neither disabled, stdout, stderr nor a file that can be written",
                      where);
        say("----- START LOGGING OF TOOL REGISTRATION -----\n");
    }
    ~report() {
        say("----- END LOGGING OF TOOL REGISTRATION -----\n");
        if (opened_) std::fclose(opened_);
    }
    report(const report &) = delete;
    report &operator=(const report &) = delete;

    void say(const char *format, const char *what = "") noexcept {
        if (!file_) return;
        std::fprintf(file_, format, what);
        std::fflush(file_);
    }

private:
    std::FILE *file_ = nullptr, *opened_ = nullptr;
};

start_result *start(void *function) noexcept {
    char name[64];
    sys::format_text(name, sizeof name, "Comity %s", comity_version());
    return reinterpret_cast<start_function>(function)(specification, name);
}

start_result *search_library(const char *path, report &log) noexcept {
    const char *error = nullptr;
    log.say("Opening %s... ", path);
    void *library = sys::open_library(path, error);
    if (!library) {
        log.say("Failed: %s\n", error);
        return nullptr;
    }
    log.say("Success.\nSearching for ompt_start_tool in %s... ", path);
    void *function = sys::symbol_in(library, "ompt_start_tool", error);
    if (!function) {
        log.say("Failed: %s\n", error);
        return nullptr;
    }
    if (start_result *result = start(function)) {
        log.say("Success.\n");
        return result;
    }
    log.say("Found but not using the OMPT interface.\nContinuing search...\n");
    return nullptr;
}

// The colon-separated list of OMP_TOOL_LIBRARIES; the first tool that wants to be used.
start_result *search_libraries(const char *list, report &log) noexcept {
    for (const char *begin = list; *begin;) {
        const char *end = ::strchrnul(begin, ':');
        char path[4096];
        const auto length = static_cast<std::size_t>(end - begin);
        if (length && length < sizeof path) {
            std::memcpy(path, begin, length);
            path[length] = 0;
            if (start_result *result = search_library(path, log)) return result;
        }
        begin = *end ? end + 1 : end;
    }
    return nullptr;
}

start_result *search_everywhere(report &log) noexcept {
    log.say("Search for OMP tool in current address space... ");
    if (void *function = sys::find_symbol("ompt_start_tool")) {
        if (start_result *result = start(function)) {
            log.say("Success.\n");
            return result;
        }
    }
    log.say("Failed.\n");
    const char *list = openmp::look_up("OMP_TOOL_LIBRARIES");
    if (list && *list) {
        log.say("Searching tool libraries...\nOMP_TOOL_LIBRARIES = %s\n", list);
        if (start_result *result = search_libraries(list, log)) return result;
    } else {
        log.say("No OMP_TOOL_LIBRARIES defined.\n");
    }
    log.say("...searching tool libraries failed.\n");
    return nullptr;
}

// OMP_TOOL: may a tool be used?
bool may_be_used() noexcept {
    const char *text = openmp::look_up("OMP_TOOL");
    if (!text || !::strcasecmp(text, "enabled")) return true;
    if (!::strcasecmp(text, "disabled")) return false;
    sys::warn("OMP_TOOL=\"%s\": not enabled or disabled; using enabled", text);
    return true;
}

start_result *look_for_tool() noexcept {
    if (!may_be_used()) return nullptr;
    report log;
    start_result *result = search_everywhere(log);
    log.say(result ? "Tool was started and is using the OMPT interface.\n" : "No OMP tool loaded.\n");
    return result;
}

bool initialize(start_result *found) noexcept {
    constexpr int initial_device = 0;
    return found->initialize && found->initialize(look_up, initial_device, &found->data);
}

void finalize_at_exit() { finalize(); }

void settle_search() noexcept {
    start_result *found_tool = look_for_tool();
    if (found_tool && initialize(found_tool))
        tool = found_tool;
    else
        for (auto &callback : callbacks) callback.store(nullptr, std::memory_order_relaxed); // it wants none
    check::on = check::is_wanted();
    if (tool || check::on) {
        task_room = sizeof(task_info);
        process.careful = true;
        // Before the tool's own end, and before libraries are finalized: a handler that is registered late is early.
        if (std::atexit(finalize_at_exit)) sys::warn("a tool will not be finalized: no memory");
        found.store(search::attached, std::memory_order_release); // release[ompt-found]
    } else {
        found.store(search::none, std::memory_order_relaxed);
    }
}

} // namespace

void find_tool() noexcept {
    static constinit sys::once settling;
    settling.run_with_signals(settle_search);
}

bool settle() noexcept {
    (void)current();
    if (found.load(std::memory_order_acquire) != search::attached) return false; // acquire[ompt-found]
    (void)mine(); // a context that comes by another way than a region's start: a league's
    return true;
}

void finalize() noexcept {
    // Nothing is reported any more but the ends. acq_rel[ompt-found]
    if (found.exchange(search::none, std::memory_order_acq_rel) != search::attached) return;
    if (!core::stays_in_handler) end_all_threads(); // whose lock may be that of the interrupted code
    if (tool && tool->finalize) tool->finalize(&tool->data);
}

bool has_tool() noexcept { return tool; }

} // namespace comity::openmp::ompt
