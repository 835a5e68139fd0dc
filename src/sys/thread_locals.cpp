#include "sys/thread_locals.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include <dlfcn.h>
#include <link.h>

#include "sys/c_library.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/sanitized.hpp"
#include "sys/thread_pointer.hpp"

namespace comity::sys {
namespace {

// One object's variables: what they are at first, and where a thread has them.
struct variables {
    const std::byte *image = nullptr;
    std::size_t filled = 0, size = 0; // of the image; the rest is zero
    std::ptrdiff_t offset = 0;        // from the thread pointer, the same in every thread
};

// All that is renewed.
struct known {
    static constexpr unsigned most = 128;
    variables all[most];
    unsigned count = 0;
    bool complete = false; // else there are more, or some that each thread has elsewhere
    unsigned long long added = 0, removed = 0;
} cache; // under the dynamic linker's lock, which dl_iterate_phdr holds

void renew(const variables &v, std::byte *at) noexcept {
    std::memcpy(at, v.image, v.filled);
    std::memset(at + v.filled, 0, v.size - v.filled);
}

void renew_all(const known &k) noexcept {
    auto *const here = reinterpret_cast<std::byte *>(thread_pointer());
    for (unsigned i = 0; i < k.count; ++i) renew(k.all[i], here + k.all[i].offset);
}

const char *file_name(const char *path) noexcept {
    const char *slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool begins_with(const char *name, const char *prefix) noexcept {
    return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
}

// The file of this library; empty: the dynamic linker does not say.
const char *own_path() noexcept {
    return made_once([] {
        Dl_info info{};
        return ::dladdr(reinterpret_cast<void *>(&renew), &info) && info.dli_fname ? info.dli_fname : "";
    });
}

// Is there a sanitizer, and in the program, not in a library of its own?
bool program_is_sanitizer() noexcept {
    return sanitized && made_once([] {
               return library_around(reinterpret_cast<void *>(find_watched("pthread_create"))) == nullptr;
           });
}

// The drop-ins lie in the folder `comity` beside this library. Where they have found it, its path leads through theirs.
bool is_drop_in(const char *path) noexcept {
    constexpr std::string_view folder = "comity/", from_there = "/comity/../";
    const std::string_view own = own_path(), beside = own.substr(0, own.rfind('/') + 1), its{path};
    if (beside.empty()) return false;
    if (beside.ends_with(from_there)) return its.starts_with(beside.substr(0, beside.size() - 3));
    return its.starts_with(beside) && its.substr(beside.size()).starts_with(folder);
}

// The C library's state of the kernel thread under the storage, and Comity's, stay; and a sanitizer's. Of the C++
// library's, exceptions are the core's to see to, and the rest lives within one call.
bool is_kept(const char *path) noexcept {
    if (!*path && program_is_sanitizer()) return true;
    for (const char *prefix : {"libc.so", "libc-2", "libpthread.so", "libpthread-2", "ld-linux", "ld-2", "libstdc++",
                               "libcomity", "libclang_rt"})
        if (begins_with(file_name(path), prefix)) return true;
    return is_drop_in(path);
}

std::size_t last_of_program = 0; // of the modules with thread-local storage that were there before the first thread

// Has every thread the object's storage at the same offset? What is set up with a thread lies beside its thread
// pointer, on the side that the machine's ABI says. What a library got that was loaded later lies where the allocator
// found memory, which may be beside it too, by chance, in one thread.
bool is_beside(const dl_phdr_info &object) noexcept {
    constexpr std::ptrdiff_t far = 256 << 10;
    const auto offset =
        static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(object.dlpi_tls_data) - thread_pointer());
#if defined(__x86_64__)
    const bool near = -far < offset && offset < 0;
#else
    const bool near = 0 < offset && offset < far;
#endif
    return near && object.dlpi_tls_modid <= last_of_program;
}

// ---- Without the lock, in which all threads that start would meet: in a process that had Comity preloaded, while
// there are no libraries but those of its beginning, and the C++ library that Comity loads. Of these none is unloaded.
// (One that loads Comity later may unload what was there before.)

// The end of the list of them all; null: some may not stay.
std::atomic<const link_map *> last_for_good{nullptr};
known for_good; // set once, with lock_objects
std::atomic<bool> for_good_is_known{false};

const link_map *next_of(const link_map *m) noexcept { return __atomic_load_n(&m->l_next, __ATOMIC_RELAXED); }

bool nothing_else_is_loaded() noexcept {
    const link_map *last = last_for_good.load(std::memory_order_acquire); // acquire[for-good]
    return last && !next_of(last);
}

// What an earlier constructor has loaded may be unloaded.
void note_what_stays() noexcept {
    const char *preloaded = environment_value("LD_PRELOAD");
    if (!preloaded || !std::strstr(preloaded, "libcomity_")) return;
    last_for_good.store(static_cast<const link_map *>(last_loaded_if_all_came_with_program(preloaded)),
                        std::memory_order_release); // release[for-good]
}

bool renew_for_good() noexcept {
    if (!nothing_else_is_loaded() || !for_good_is_known.load(std::memory_order_acquire)) // acquire[for-good]
        return false;
    renew_all(for_good);
    return true;
}

// With lock_objects. What was loaded meanwhile no thread on this storage has used.
void note_for_good() noexcept {
    if (for_good_is_known.load(std::memory_order_relaxed) || !cache.complete || !nothing_else_is_loaded()) return;
    for_good = cache;
    for_good_is_known.store(true, std::memory_order_release); // release[for-good]
}

int visit(dl_phdr_info *object, std::size_t, void *first_time) noexcept {
    bool &first = *static_cast<bool *>(first_time);
    if (first) {
        first = false;
        if (cache.complete && cache.added == object->dlpi_adds && cache.removed == object->dlpi_subs) {
            renew_all(cache);
            return 1;
        }
        cache.count = 0;
        cache.complete = true;
        cache.added = object->dlpi_adds;
        cache.removed = object->dlpi_subs;
    }
    auto *data = static_cast<std::byte *>(object->dlpi_tls_data);
    if (object->dlpi_tls_modid == 0 || is_kept(object->dlpi_name ? object->dlpi_name : "")) return 0;
    if (!data) { // this thread has not come to use them; another may have
        cache.complete = false;
        return 0;
    }
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto &part = object->dlpi_phdr[i];
        if (part.p_type != PT_TLS) continue;
        const variables v{reinterpret_cast<const std::byte *>(object->dlpi_addr + part.p_vaddr), part.p_filesz,
                          part.p_memsz,
                          static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(data) - thread_pointer())};
        renew(v, data);
        if (is_beside(*object) && cache.count < known::most)
            cache.all[cache.count++] = v;
        else
            cache.complete = false;
    }
    return 0;
}

constinit own_function<void (*)()> own_destructors{"__call_tls_dtors"};

// As in kernel_thread.cpp: not by a thread for which the holder of the dynamic linker's lock waits.
__attribute__((constructor)) void find_early() noexcept {
    own_path();
    program_is_sanitizer();
    own_destructors.find();
    visit_headers(
        [](dl_phdr_info *object, std::size_t, void *) {
            last_of_program = std::max(last_of_program, object->dlpi_tls_modid);
            return 0;
        },
        nullptr);
    note_what_stays();
    if (!at_fork(lock_objects, unlock_objects, unlock_objects))
        warn("no memory to prepare for fork: a child process must not make threads");
}

} // namespace

bool destroy_thread_locals() noexcept {
    const auto call = own_destructors.find();
    if (!call) return false;
    call();
    return true;
}

void note_own_libraries() noexcept {
    visit_headers(
        [](dl_phdr_info *, std::size_t, void *) {
            const link_map *last = last_for_good.load(std::memory_order_relaxed);
            const auto is_own = [](const link_map *m) {
                const char *name = file_name(m->l_name);
                return begins_with(name, "libstdc++.so") || begins_with(name, "libgcc_s.so") ||
                       begins_with(name, "libm.so") || begins_with(name, "libm-");
            };
            while (last && next_of(last) && is_own(next_of(last))) last = next_of(last);
            last_for_good.store(last, std::memory_order_release); // release[for-good]
            return 1;
        },
        nullptr);
}

void renew_thread_locals() noexcept {
    if (renew_for_good()) return;
    bool first = true;
    lock_objects();
    ::dl_iterate_phdr(visit, &first);
    note_for_good();
    unlock_objects();
}

} // namespace comity::sys
