/*
 * Every call of the inbox in every state that calls can lead to, with up to CLAIMS claims. Each transition is printed: the
 * state before, the call, its result, and the state after. test/system/model/replay.ts makes the same calls of the receiver kit.
 */

#include "inbox.pml"

#ifndef CLAIMS
#define CLAIMS 3
#endif

Lease lease[CLAIMS];
hidden byte i_, j_;

inline print_state() {
  for (i_ : 0 .. ROWS - 1) {
    printf("%d %d %d %d ", row[i_].state, row[i_].attempts, row[i_].due, effects[i_])
  };
  for (i_ : 0 .. KEYS - 1) {
    printf("%d %d %d %d ", key[i_].id, key[i_].worker, key[i_].generation, key[i_].claimed);
    printf("%d %d %d ", key[i_].suspects, key[i_].wake, key[i_].head)
  };
  for (i_ : 0 .. CLAIMS - 1) {
    printf("%d %d %d ", lease[i_].id, lease[i_].worker, lease[i_].generation);
    printf("%d %d %d ", lease[i_].rows, lease[i_].open, lease[i_].head)
  };
  printf("%d %d ", names, ids)
}

#define before print_state(); result = 0
#define after(text, a, b) printf(text, a, b, result); print_state(); printf("\n")

/* A lease is of one key, so there is one for each claim and key. */
#define leaseOf(claim, k) lease[(claim) * KEYS + (k)]

/* The end of the row r. What is left of a claim without rows decides nothing. */
inline took(c, r) {
  lease[c].rows = lease[c].rows & ~bit(r);
  if
  :: lease[c].rows == 0 -> forget(lease[c])
  :: else
  fi
}

proctype deliver(byte r) {
  do
  :: d_step { before; insert(r); after("|insert %d %d|%d|", r, 0) }
  od
}

#define hasExpired(k) (isDue(k) && key[k].worker != 0)

proctype claimer(byte rowsPerKeyMax) {
  do
  :: d_step {
       /* keys whose leases expired together are due one after the other, which is not modelled */
       names < CLAIMS / KEYS && !(KEYS == 2 && hasExpired(0) && hasExpired(KEYS - 1)) ->
         before;
         names++;
         for (j_ : 0 .. KEYS - 1) {
           claim(j_, rowsPerKeyMax, leaseOf(names - 1, j_));
           result = result + leaseOf(names - 1, j_).rows
         };
         names = names - (result == 0 -> 1 : 0);
         after("|claim %d %d|%d|", names, rowsPerKeyMax)
     }
  od
}

/* As the worker does. */
inline handle(c, r) {
  settle(keyOf(r), lease[c], r);
  if
  :: result == superseded -> end_row(keyOf(r), lease[c], r, release); result = superseded
  :: result == settled && lease[c].head < position(r) -> lease[c].head = position(r)
  :: else
  fi;
  took(c, r)
}

proctype handler(byte c; byte r) {
  do
  :: d_step { lease[c].rows & bit(r) -> before; handle(c, r); after("|settle %d %d|%d|", c, r) }
  :: d_step {
       lease[c].rows & bit(r) ->
         before;
         end_row(keyOf(r), lease[c], r, retry);
         took(c, r);
         after("|retry %d %d|%d|", c, r)
     }
  :: d_step {
       lease[c].rows & bit(r) ->
         before;
         end_row(keyOf(r), lease[c], r, dead);
         took(c, r);
         after("|dead %d %d|%d|", c, r)
     }
  :: d_step {
       lease[c].rows & bit(r) ->
         before;
         end_row(keyOf(r), lease[c], r, release);
         took(c, r);
         after("|release %d %d|%d|", c, r)
     }
  od
}

/* The first rows of both keys, in one transaction: the same as one after the other. */
proctype sharer(byte c) {
  do
  :: d_step {
       KEYS == 2 && leaseOf(c, 0).rows && leaseOf(c, 1).rows ->
         before;
         for (j_ : 0 .. KEYS - 1) {
           for (i_ : 0 .. ROWS - 1) {
             if
             :: leaseOf(c, j_).rows & bit(i_) -> break
             :: else
             fi
           };
           handle(c * KEYS + j_, i_)
         };
         after("|share %d %d|%d|", c, 0)
     }
  od
}

proctype renewer(byte c; byte k) {
  do
  :: d_step { lease[c].rows -> before; renew(k, lease[c]); after("|renew %d %d|%d|", c, k) }
  od
}

proctype request(byte k; byte p) {
  do
  :: d_step { before; advance_head(k, p); after("|advance %d %d|%d|", k, p) }
  od
}

active proctype time() {
  do
  :: d_step { before; tick(); after("|tick %d %d|%d|", 0, 0) }
  od
}

init {
  byte r, c, k;
  atomic {
    for (r : 0 .. ROWS - 1) { run deliver(r) };
    run claimer(1);
    run claimer(2);
    for (c : 0 .. CLAIMS - 1) {
      run renewer(c, c % KEYS);
      for (r : 0 .. ROWS - 1) {
        if
        :: keyOf(r) == c % KEYS -> run handler(c, r)
        :: else
        fi
      }
    };
    for (k : 0 .. KEYS - 1) { run request(k, ROWS) };
    for (c : 0 .. CLAIMS / KEYS - 1) { run sharer(c) }
  }
}
