// Stands in for glibc's, which needs files of its build: what the tests use of it.
#pragma once
#define atomic_load_relaxed(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#define atomic_load_acquire(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define atomic_store_release(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)
#define atomic_store_relaxed(word, value) __atomic_store_n(word, value, __ATOMIC_RELAXED)
#define atomic_fetch_add_relaxed(word, value) __atomic_fetch_add(word, value, __ATOMIC_RELAXED)
#define atomic_exchange_acquire(word, value) __atomic_exchange_n(word, value, __ATOMIC_ACQUIRE)
