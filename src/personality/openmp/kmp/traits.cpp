#include "personality/openmp/omp/functions.hpp"

const comity::openmp::abi_traits &comity::openmp::abi = llvm_abi;
