// The C interface's objects live in the caller's storage.
#pragma once

#include <new>

namespace comity::sync {

template <class Object, class Storage> Object &object(Storage *s) noexcept {
    static_assert(sizeof(Object) <= sizeof(Storage));
    static_assert(alignof(Object) <= alignof(Storage));
    return *std::launder(reinterpret_cast<Object *>(s));
}
template <class Object, class Storage> const Object &object(const Storage *s) noexcept {
    return object<Object>(const_cast<Storage *>(s));
}

} // namespace comity::sync
