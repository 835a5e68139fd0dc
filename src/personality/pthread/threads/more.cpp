// What is asked of a thread, and set: names, attributes, signals, C11's names for all of it.
