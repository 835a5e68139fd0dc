/* Park and wake with the demand that it serves: does every unit of work get done? src/core/base.cpp (put_idle, request, yielded) and carrier.cpp
   (parker), sequentially consistent: the memory orders are the Relacy models' business, progress is this one's.
   Two workers, each with its hart; two threads ask for a hart for N pieces of work each.
   BUG 1: a worker sleeps without a look at the demand after it has put its hart among the idle ones.
   BUG 2: who asks does not look for an idle hart after announcing the demand.
   BUG 3: sleeping overwrites a token that came meanwhile. */
#ifndef BUG
#define BUG 0
#endif
#define W 2
#define R 2
#define N 1
#define EMPTY 0
#define PARKED 1
#define TOKEN 2

byte wanted = 0;            /* pieces of work that nobody took up */
byte done = 0;
bool idle[W];               /* the idle set: whoever clears the bit holds the hart */
byte word[W];               /* the parkers */

inline claim(w, got) { d_step { got = idle[w]; idle[w] = false } }

inline wake(w) { word[w] = TOKEN }            /* an exchange; the futex below watches the word */

inline take_work(got) { d_step { got = wanted > 0; if :: got -> wanted-- :: else -> skip fi } }

active [W] proctype worker() {
  byte me = _pid;
  bool got;
  do
  :: take_work(got);
     if
     :: got -> done++
     :: else ->
        idle[me] = true;
#if BUG != 1
        if
        :: wanted > 0 ->
           claim(me, got);
           if :: got -> goto again :: else -> skip fi
        :: else -> skip
        fi;
#endif
#if BUG == 3
        word[me] = PARKED;
#else
        d_step { if :: word[me] == EMPTY -> word[me] = PARKED :: else -> skip fi };
#endif
end:    (word[me] == TOKEN);
        word[me] = EMPTY
     fi;
again: skip
  od
}

active [R] proctype asker() {
  byte i, w;
  bool got;
  for (i : 1 .. N) {
    wanted++;
#if BUG != 2
    got = false;
    for (w : 0 .. W - 1) {
      if
      :: !got -> claim(w, got); if :: got -> wake(w) :: else -> skip fi
      :: else -> skip
      fi
    }
#endif
  }
}

ltl all_done { <> (done == R * N) }
