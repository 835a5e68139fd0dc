"""Comity's libraries need the C library and each other, and nothing else (src/sys/cpp_library.hpp): what else they need, every
process under `comity run` would load. What they have of the C++ library they keep to themselves.

    needed_libraries.py READELF LIBRARY...
"""
import re
import subprocess
import sys

OF_THE_C_LIBRARY = re.compile(r"libcomity.*\.so.*|lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux-.*\.so\.\d+")
OF_THE_CPP_LIBRARY = re.compile(r"__cxa_|__gxx_|_Unwind_|_ZSt(9terminate|7nothrow|\d+__throw)|_Zd[la]")


def lines_of(library: str, *options: str) -> list[str]:
    return subprocess.run([readelf, "--wide", *options, library], capture_output=True, text=True, check=True).stdout.splitlines()


readelf, *libraries = sys.argv[1:]
wrong = []
for library in libraries:
    needed = [found[1] for line in lines_of(library, "--dynamic") if (found := re.search(r"\(NEEDED\).*\[(.*)\]", line))]
    if not needed:
        wrong.append(f"{library}: needs nothing? Then this test does not read it")
    wrong += [f"{library}: needs {name}" for name in needed if not OF_THE_C_LIBRARY.fullmatch(name)]
    for line in lines_of(library, "--dyn-syms"):
        words = line.split()
        if len(words) >= 8 and words[6] != "UND" and OF_THE_CPP_LIBRARY.match(words[7]):
            wrong.append(f"{library}: shows {words[7]}")
print(*wrong, sep="\n")
sys.exit(bool(wrong) or not libraries)
