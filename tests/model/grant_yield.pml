/* Hart grant and yield with unregister's wait: does every scheduler end, and every hart come back? src/core/sched.cpp (reserve, yield, end_sched,
   resume_registrant) over one child of a parent with P harts of its own. The registrant wants harts, works, and ends its scheduler; late wakers that hold a
   pin want a hart meanwhile.
   BUG 1: the last hart to leave a closing scheduler does not resume the registrant.
   BUG 2: reserve succeeds in a scheduler that has closed.
   BUG 3: the end does not wait for pins. */
#ifndef BUG
#define BUG 0
#endif
#define P 2

byte harts = 1, wanted = 0, pins = 1;
bool closing = false, listed = false, ended = false, resumed = false;
byte ready = 0;             /* made ready by the waker; the scheduler may not end before it has run */
byte left = P;              /* harts with the parent */
bool finished = false;

inline leave() {            /* core::yield: one compare-exchange */
  d_step {
    last = false;
    stay = (wanted > 0 && !closing);
    if :: stay -> wanted-- :: else -> last = (harts == 1 && closing); harts-- fi
  }
}
inline resume_registrant() { d_step { closing = false; harts++ }; resumed = true }

active proctype registrant() {
  bool last, stay;
  d_step { wanted++; listed = true };
  do /* the region: what becomes ready runs, here or on another hart */
  :: ready > 0 -> d_step { if :: ready > 0 -> ready--; finished = true :: else -> skip fi }
  :: finished -> break
  od;
  /* end_sched */
  do
  :: atomic { harts == 1 && wanted == 0 && (pins == 0 || BUG == 3) -> closing = true }; break
  :: wanted > 0 -> wanted = 0
  :: harts > 1 ->
     closing = true;
     leave();
     if :: last -> resume_registrant() :: else -> skip fi;
     resumed; resumed = false
  od;
  listed = false;
  ended = true
}

active proctype waker() {
  ready++;
  if :: wanted == 0 -> wanted++ :: else -> skip fi;
  assert(!ended);
  listed = true;
  pins--
}

active [P] proctype parents_hart() {
  bool last, stay, got;
  do
  :: ended && pins == 0 -> break
  :: listed && !ended ->
     /* pick_child: under the lock that guards the list */
     atomic {
       got = (listed && wanted > 0 && (!closing || BUG == 2));
       if :: got -> wanted--; harts++; left-- :: else -> skip fi;
       if :: wanted == 0 -> listed = false :: else -> skip fi
     };
     if
     :: got ->
step:   assert(!ended);
        if :: ready > 0 -> d_step { if :: ready > 0 -> ready--; finished = true :: else -> skip fi } :: else -> skip fi;
        leave();
        if
        :: stay -> goto step
        :: last && BUG != 1 -> resume_registrant()
        :: else -> skip
        fi;
        left++
     :: else -> skip
     fi
  od
}

ltl ends { <> (ended && left == P) }
