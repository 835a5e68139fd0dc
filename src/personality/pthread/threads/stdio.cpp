// The functions of <stdio.h> that may sleep in a system call of the C library's own. They are cancellation points, also
// where they sleep: that call is ended, and the function returns before its thread is cancelled, so the stream stays
// usable.
#include "personality/pthread/threads/input.hpp"
#include "personality/pthread/threads/library_call.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/errno_kept.hpp"

#include <cstdarg>
#include <cstdio>
#include <cwchar>

#include <poll.h>

namespace comity::posix {

namespace {

// Makes the call. If the thread is to be cancelled, it is so before, or when that has ended one of the system calls.
template <class Call> auto make(receiver &r, Call call, bool leaves) {
    test_cancel();
    deliver_here();
    if (thread *t = current_thread; t && (leaves || t->slice_is_over)) {
        t->slice_is_over = false;
        (void)leave_hart();
    }
    decltype(call()) result{};
    bool cancelled = false;
    {
        const open_library_call here(r);
        result = call();
        cancelled = here.is_ended() && is_to_be_cancelled(r);
    }
    {
        const sys::errno_kept kept;
        if (leaves) come_home(); // whom the watch has sent away goes on there: others wait for the hart
        deliver_here();
    }
    if (cancelled) test_cancel();
    return result;
}

// Looks at a stream that others may use: what it tells may be old. Wide characters have buffers of their own.
bool has_input(const std::FILE *f) noexcept { return f->_IO_read_ptr < f->_IO_read_end; }
bool has_room(const std::FILE *f) noexcept { return f->_IO_write_ptr < f->_IO_write_end; }

// Output, and what else may sleep: the watch sees to the hart.
template <class Call> auto output(Call call) {
    receiver *r = settled_receiver_here();
    return r ? make(*r, call, false) : call();
}
template <class Call> auto input(std::FILE *f, Call call) {
    receiver *r = settled_receiver_here();
    return r ? make(*r, call, !has_input(f) && f->_fileno >= 0 && would_sleep(f->_fileno, POLLIN)) : call();
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// All are defined by names of ours: the headers give some of them other symbols, or say that they do not throw.
#define COMITY_STDIO(result, name, parameters, arguments, made)                                                        \
    COMITY_INTERPOSED result our_##name parameters __asm__(#name);                                                     \
    result our_##name parameters {                                                                                     \
        COMITY_NEXT_SYMBOL static next<result(*) parameters> next_##name{#name};                                       \
        const auto call = [=] { return next_##name.get() arguments; };                                                 \
        made;                                                                                                          \
    }
#define COMITY_INPUT(result, name, parameters, arguments, file)                                                        \
    COMITY_STDIO(result, name, parameters, arguments, return input(file, call))
#define COMITY_OUTPUT(result, name, parameters, arguments)                                                             \
    COMITY_STDIO(result, name, parameters, arguments, return output(call))
// Its descriptor is closed, at the end of output that may sleep, or before a process is waited for.
#define COMITY_CLOSE(result, name, parameters, arguments)                                                              \
    COMITY_STDIO(result, name, parameters, arguments,                                                                  \
                 if (f && f->_fileno >= 0)                                                                             \
                     closing::is_near(static_cast<unsigned>(f->_fileno), static_cast<unsigned>(f->_fileno));           \
                 return output(call))
// One character, mostly from or to the buffer.
#define COMITY_GETS_ONE(result, name, parameters, arguments, file)                                                     \
    COMITY_STDIO(result, name, parameters, arguments, return has_input(file) ? call() : input(file, call))
#define COMITY_PUTS_ONE(result, name, parameters, arguments, file)                                                     \
    COMITY_STDIO(result, name, parameters, arguments, return has_room(file) ? call() : output(call))
// One with arguments of any number is that which has them in a list.
#define COMITY_LISTED(name, parameters, last, listed, arguments)                                                       \
    COMITY_INTERPOSED int our_##name parameters __asm__(#name);                                                        \
    int our_##name parameters {                                                                                        \
        std::va_list list;                                                                                             \
        va_start(list, last);                                                                                          \
        const int result = our_##listed arguments;                                                                     \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }

// ---- Input. The names with underlines are what the headers make of the others in optimised programs and in those
// built with _FORTIFY_SOURCE, and what they make of scanf by the language's version.

COMITY_GETS_ONE(int, fgetc, (FILE * f), (f), f)
COMITY_GETS_ONE(int, fgetc_unlocked, (FILE * f), (f), f)
COMITY_GETS_ONE(int, getc, (FILE * f), (f), f)
COMITY_GETS_ONE(int, _IO_getc, (FILE * f), (f), f)
COMITY_GETS_ONE(int, getc_unlocked, (FILE * f), (f), f)
COMITY_GETS_ONE(int, getchar, (), (), stdin)
COMITY_GETS_ONE(int, getchar_unlocked, (), (), stdin)
COMITY_INPUT(int, __uflow, (FILE * f), (f), f)
COMITY_INPUT(char *, fgets, (char *to, int size, FILE *f), (to, size, f), f)
COMITY_INPUT(char *, fgets_unlocked, (char *to, int size, FILE *f), (to, size, f), f)
COMITY_INPUT(char *, __fgets_chk, (char *to, size_t room, int size, FILE *f), (to, room, size, f), f)
COMITY_INPUT(char *, __fgets_unlocked_chk, (char *to, size_t room, int size, FILE *f), (to, room, size, f), f)
COMITY_INPUT(size_t, fread, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), f)
COMITY_INPUT(size_t, fread_unlocked, (void *to, size_t size, size_t n, FILE *f), (to, size, n, f), f)
COMITY_INPUT(size_t, __fread_chk, (void *to, size_t room, size_t size, size_t n, FILE *f), (to, room, size, n, f), f)
COMITY_INPUT(size_t, __fread_unlocked_chk, (void *to, size_t room, size_t size, size_t n, FILE *f),
             (to, room, size, n, f), f)
COMITY_INPUT(ssize_t, getline, (char **to, size_t *size, FILE *f), (to, size, f), f)
COMITY_INPUT(ssize_t, getdelim, (char **to, size_t *size, int end, FILE *f), (to, size, end, f), f)
COMITY_INPUT(ssize_t, __getdelim, (char **to, size_t *size, int end, FILE *f), (to, size, end, f), f)
COMITY_INPUT(int, vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
COMITY_INPUT(int, vscanf, (const char *format, va_list list), (format, list), stdin)
COMITY_INPUT(int, __isoc99_vfscanf, (FILE * f, const char *format, va_list list), (f, format, list), f)
COMITY_INPUT(int, __isoc99_vscanf, (const char *format, va_list list), (format, list), stdin)
COMITY_LISTED(fscanf, (FILE * f, const char *format, ...), format, vfscanf, (f, format, list))
COMITY_LISTED(scanf, (const char *format, ...), format, vscanf, (format, list))
COMITY_LISTED(__isoc99_fscanf, (FILE * f, const char *format, ...), format, __isoc99_vfscanf, (f, format, list))
COMITY_LISTED(__isoc99_scanf, (const char *format, ...), format, __isoc99_vscanf, (format, list))
COMITY_INPUT(wint_t, fgetwc, (FILE * f), (f), f)
COMITY_INPUT(wint_t, getwc, (FILE * f), (f), f)
COMITY_INPUT(wint_t, getwchar, (), (), stdin)
COMITY_INPUT(wchar_t *, fgetws, (wchar_t * to, int size, FILE *f), (to, size, f), f)

// ---- Output

COMITY_PUTS_ONE(int, fputc, (int c, FILE *f), (c, f), f)
COMITY_PUTS_ONE(int, fputc_unlocked, (int c, FILE *f), (c, f), f)
COMITY_PUTS_ONE(int, putc, (int c, FILE *f), (c, f), f)
COMITY_PUTS_ONE(int, _IO_putc, (int c, FILE *f), (c, f), f)
COMITY_PUTS_ONE(int, putc_unlocked, (int c, FILE *f), (c, f), f)
COMITY_PUTS_ONE(int, putchar, (int c), (c), stdout)
COMITY_PUTS_ONE(int, putchar_unlocked, (int c), (c), stdout)
COMITY_OUTPUT(int, __overflow, (FILE * f, int c), (f, c))
COMITY_OUTPUT(int, fputs, (const char *from, FILE *f), (from, f))
COMITY_OUTPUT(int, fputs_unlocked, (const char *from, FILE *f), (from, f))
COMITY_OUTPUT(int, puts, (const char *from), (from))
COMITY_OUTPUT(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f))
COMITY_OUTPUT(size_t, fwrite_unlocked, (const void *from, size_t size, size_t n, FILE *f), (from, size, n, f))
COMITY_OUTPUT(int, fflush, (FILE * f), (f))
COMITY_OUTPUT(int, fflush_unlocked, (FILE * f), (f))
COMITY_OUTPUT(int, vfprintf, (FILE * f, const char *format, va_list list), (f, format, list))
COMITY_OUTPUT(int, vprintf, (const char *format, va_list list), (format, list))
COMITY_OUTPUT(int, vdprintf, (int fd, const char *format, va_list list), (fd, format, list))
COMITY_OUTPUT(int, __vfprintf_chk, (FILE * f, int flag, const char *format, va_list list), (f, flag, format, list))
COMITY_OUTPUT(int, __vprintf_chk, (int flag, const char *format, va_list list), (flag, format, list))
COMITY_OUTPUT(int, __vdprintf_chk, (int fd, int flag, const char *format, va_list list), (fd, flag, format, list))
COMITY_LISTED(fprintf, (FILE * f, const char *format, ...), format, vfprintf, (f, format, list))
COMITY_LISTED(printf, (const char *format, ...), format, vprintf, (format, list))
COMITY_LISTED(dprintf, (int fd, const char *format, ...), format, vdprintf, (fd, format, list))
COMITY_LISTED(__fprintf_chk, (FILE * f, int flag, const char *format, ...), format, __vfprintf_chk,
              (f, flag, format, list))
COMITY_LISTED(__printf_chk, (int flag, const char *format, ...), format, __vprintf_chk, (flag, format, list))
COMITY_LISTED(__dprintf_chk, (int fd, int flag, const char *format, ...), format, __vdprintf_chk,
              (fd, flag, format, list))
COMITY_OUTPUT(wint_t, fputwc, (wchar_t c, FILE *f), (c, f))
COMITY_OUTPUT(wint_t, putwc, (wchar_t c, FILE *f), (c, f))
COMITY_OUTPUT(wint_t, putwchar, (wchar_t c), (c))
COMITY_OUTPUT(int, fputws, (const wchar_t *from, FILE *f), (from, f))
COMITY_OUTPUT(int, vfwprintf, (FILE * f, const wchar_t *format, va_list list), (f, format, list))
COMITY_OUTPUT(int, vwprintf, (const wchar_t *format, va_list list), (format, list))
COMITY_LISTED(fwprintf, (FILE * f, const wchar_t *format, ...), format, vfwprintf, (f, format, list))
COMITY_LISTED(wprintf, (const wchar_t *format, ...), format, vwprintf, (format, list))

// ---- Streams

COMITY_OUTPUT(FILE *, fopen, (const char *path, const char *mode), (path, mode))
COMITY_OUTPUT(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
COMITY_CLOSE(FILE *, freopen, (const char *path, const char *mode, FILE *f), (path, mode, f))
COMITY_CLOSE(FILE *, freopen64, (const char *path, const char *mode, FILE *f), (path, mode, f))
COMITY_CLOSE(int, fclose, (FILE * f), (f))
COMITY_CLOSE(int, pclose, (FILE * f), (f))
COMITY_OUTPUT(int, fseek, (FILE * f, long to, int from), (f, to, from))
COMITY_OUTPUT(int, fseeko, (FILE * f, off_t to, int from), (f, to, from))
COMITY_OUTPUT(int, fseeko64, (FILE * f, off64_t to, int from), (f, to, from))
COMITY_OUTPUT(int, fsetpos, (FILE * f, const fpos_t *to), (f, to))
COMITY_OUTPUT(int, fsetpos64, (FILE * f, const fpos64_t *to), (f, to))
