#include "sys/loaded_objects.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <iostream>

#include <cstdlib>

#include <dlfcn.h>

__asm__(".pushsection .note.comity.test, \"a\", %note\n"
        ".balign 4\n"
        ".long 7, 3, 1\n"                 // the sizes of owner and contents, which are filled up
        ".ascii \"Comity\\0\\0one\\0\"\n" //
        ".long 5, 0, 2\n"
        ".ascii \"Last\\0\\0\\0\\0\"\n"
        ".popsection\n");

namespace {

using comity::sys::has_note_by;

const int here = 0;

TEST(notes, are_found_by_their_owners) {
    EXPECT_TRUE(has_note_by("Comity", &here));
    EXPECT_TRUE(has_note_by("Last", &here));
    EXPECT_TRUE(has_note_by("GNU", reinterpret_cast<const void *>(&std::abort))) << "the C library's build identifier";
}

TEST(notes, are_not_found_where_there_are_none) {
    EXPECT_FALSE(has_note_by("Com", &here)) << "the begin of an owner's name";
    EXPECT_FALSE(has_note_by("Comity_", &here));
    EXPECT_FALSE(has_note_by("Comity", dlsym(RTLD_NEXT, "abort"))) << "another object's"; // not this one's way there
    int on_the_stack = 0;
    EXPECT_FALSE(has_note_by("GNU", &on_the_stack));
    EXPECT_FALSE(has_note_by("GNU", nullptr));
}

TEST(loaded_objects, are_found_in_the_list_as_by_the_dynamic_linker) {
    int on_stack = 0;
    static int in_program;
    const void *addresses[] = {&in_program, reinterpret_cast<const void *>(&std::strlen),
                               &std::cout,  reinterpret_cast<const void *>(&dlopen),
                               &on_stack,   nullptr};
    for (const void *a : addresses) {
        const comity::sys::loaded_object found = comity::sys::loaded_object_around(a),
                                         by_list = comity::sys::loaded_object_in_list(a);
        EXPECT_EQ(found.map, by_list.map);
        EXPECT_EQ(found.map == nullptr, a == &on_stack || a == nullptr);
        const auto at = reinterpret_cast<std::uintptr_t>(a);
        EXPECT_EQ(by_list.range.contains(at), by_list.map != nullptr);
        EXPECT_EQ(found.range.contains(at), found.map != nullptr);
    }
}

TEST(definitions, are_found_as_by_the_dynamic_linker) {
    for (const char *name : {"malloc", "pthread_create", "pthread_cond_wait", "pthread_once", "getenv", "fork", "time",
                             "memcpy", "_ZNSt6thread4joinEv", "no_such_function"})
        EXPECT_EQ(comity::sys::next_definition(name, &here), dlsym(RTLD_NEXT, name)) << name;
}

} // namespace
