// func counter() uint64: the time stamp counter.
#include "textflag.h"

TEXT ·counter(SB), NOSPLIT, $0-8
	LFENCE
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
