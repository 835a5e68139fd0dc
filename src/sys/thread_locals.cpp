#include "sys/thread_locals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <dlfcn.h>
#include <link.h>

#include "sys/c_library.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/sanitized.hpp"
#include "sys/spinlock.hpp"

namespace comity::sys {
namespace {

// One object's variables: what they are at first, and where a thread has them.
struct variables {
    const std::byte *image = nullptr;
    std::size_t filled = 0, size = 0; // of the image; the rest is zero
    std::ptrdiff_t offset = 0;        // from the thread pointer, the same in every thread
};

// All that is renewed. Under the dynamic linker's lock, which dl_iterate_phdr holds.
struct known {
    static constexpr unsigned most = 128;
    variables all[most];
    unsigned count = 0;
    bool complete = false; // else there are more, or some that each thread has elsewhere
    unsigned long long added = 0, removed = 0;
} cache;

std::uintptr_t thread_pointer() noexcept { return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()); }

void renew(const variables &v, std::byte *at) noexcept {
    std::memcpy(at, v.image, v.filled);
    std::memset(at + v.filled, 0, v.size - v.filled);
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

// The C library's state of the kernel thread under the storage, and Comity's, stay; and a sanitizer's. Of the C++
// library's, exceptions are the core's to see to, and the rest lives within one call.
bool is_kept(const char *path) noexcept {
    if (!*path && program_is_sanitizer()) return true;
    const char *slash = std::strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (const char *prefix :
         {"libc.so", "libc-", "libpthread", "ld-linux", "ld-2", "libstdc++", "libcomity", "libclang_rt"})
        if (begins_with(name, prefix)) return true;
    const char *own = own_path(), *own_slash = std::strrchr(own, '/');
    // The drop-ins lie in the folder `comity` beside this library.
    const std::size_t folder = own_slash ? static_cast<std::size_t>(own_slash - own) + 1 : 0;
    return slash && folder != 0 && std::strncmp(path, own, folder) == 0 && begins_with(path + folder, "comity/");
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

int visit(dl_phdr_info *object, std::size_t, void *first_time) noexcept {
    bool &first = *static_cast<bool *>(first_time);
    if (first) {
        first = false;
        if (cache.complete && cache.added == object->dlpi_adds && cache.removed == object->dlpi_subs) {
            for (unsigned i = 0; i < cache.count; ++i)
                renew(cache.all[i], reinterpret_cast<std::byte *>(thread_pointer()) + cache.all[i].offset);
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

// Around the dynamic linker's lock, and around a fork: glibc's child would find that one held for ever.
spinlock visiting;

// As in kernel_thread.cpp: not by a thread for which the holder of the dynamic linker's lock waits.
__attribute__((constructor)) void find_early() noexcept {
    own_path();
    program_is_sanitizer();
    own_destructors.find();
    ::dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *) {
            last_of_program = std::max(last_of_program, object->dlpi_tls_modid);
            return 0;
        },
        nullptr);
    if (!at_fork([] { visiting.lock(); }, [] { visiting.unlock(); }, [] { visiting.unlock(); }))
        warn("no memory to prepare for fork: a child process must not make threads");
}

} // namespace

bool destroy_thread_locals() noexcept {
    const auto call = own_destructors.find();
    if (!call) return false;
    call();
    return true;
}

void renew_thread_locals() noexcept {
    bool first = true;
    visiting.lock();
    ::dl_iterate_phdr(visit, &first);
    visiting.unlock();
}

} // namespace comity::sys
