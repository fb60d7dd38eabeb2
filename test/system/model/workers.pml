/*
 * Workers of several processes on the rows of one key. Between any two steps of a worker anything may happen elsewhere, so
 * a worker is as slow as the others let it be. One that is not disturbed renews its lease in time; a disturbed one is
 * paused, and resumes at any later step without knowing it. Every kind of fault has a budget.
 */

#include "inbox.pml"

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CRASHES
#define CRASHES 1     /* of a worker; another one takes its place */
#endif
#ifndef PAUSES
#define PAUSES 1
#endif
#ifndef FAILURES
#define FAILURES 1    /* of a handler */
#endif
#ifndef RELEASES
#define RELEASES 1    /* of rows by a worker that stops */
#endif
#ifndef LOSSES
#define LOSSES 1      /* of the result of a commit that took effect */
#endif
#ifndef ADVANCES
#define ADVANCES 1    /* of the head by a request */
#endif
#ifndef LOST_CLAIMS
#define LOST_CLAIMS 1 /* by a crash of the database: a claim need not be durable */
#endif

#define NONE 99
#define KEY 0

Lease lease[WORKERS];
byte handled[WORKERS] = NONE;  /* the row whose handler is running */
bool isDisturbed[WORKERS];
byte crashes = CRASHES, pauses = PAUSES, failures = FAILURES, releases = RELEASES;
byte losses = LOSSES, advances = ADVANCES, lostClaims = LOST_CLAIMS;
byte started[ROWS];            /* attempts that were not released */
bool isVolatile;               /* nothing durable was written since the last claim */
hidden byte w_;

#define isIdle(w) (lease[w].rows == 0)
#define isHandling(w) (handled[w] != NONE)
#define isUndisturbed(w) (isHandling(w) && !isDisturbed[w])

inline give_up(w) {
  forget(lease[w]);
  handled[w] = NONE;
  isDisturbed[w] = false
}

/* The worker has handled its row. When the lease was lost, it gives up the rows behind it, too. */
inline finish(w) {
  isVolatile = false;
  lease[w].rows = lease[w].rows & ~bit(handled[w]);
  handled[w] = NONE;
  if
  :: result == lost || lease[w].rows == 0 -> give_up(w)
  :: else
  fi
}

/* No attempt is lost: when a claim begins, all that were started have been counted, but for a claim that was lost. */
inline check_attempts() {
  for (r_ : 0 .. ROWS - 1) { assert(started[r_] <= row[r_].attempts + LOST_CLAIMS - lostClaims) }
}

proctype receiver(byte w) {
  do
  :: d_step {
       isIdle(w) && isDue(KEY) ->
         names++;
         claim(KEY, 2, lease[w]);
         check_attempts();
         isVolatile = (lease[w].rows != 0)
     }
  :: d_step {
       !isIdle(w) && !isHandling(w) ->
         for (r_ : 0 .. ROWS - 1) {
           if
           :: lease[w].rows & bit(r_) -> handled[w] = r_; break
           :: else
           fi
         };
         for (w_ : 0 .. WORKERS - 1) {  /* no two undisturbed workers handle the same key */
           assert(w_ == w || !isUndisturbed(w_) || !isUndisturbed(w))
         };
         started[handled[w]]++
     }
  :: d_step {
       isHandling(w) ->
         settle(KEY, lease[w], handled[w]);
         if
         :: result == superseded -> end_row(KEY, lease[w], handled[w], release); started[handled[w]]--
         :: result == settled && lease[w].head < position(handled[w]) -> lease[w].head = position(handled[w])
         :: else
         fi;
         finish(w)
     }
  :: d_step {  /* the handlers run again, or their failure is recorded */
       isHandling(w) && losses > 0 ->
         losses--;
         isVolatile = false;
         isDisturbed[w] = true;
         settle(KEY, lease[w], handled[w])
     }
  :: d_step {
       isHandling(w) && failures > 0 ->
         failures--;
         if
         :: row[handled[w]].attempts + 1 >= ATTEMPTS -> end_row(KEY, lease[w], handled[w], dead)
         :: else -> end_row(KEY, lease[w], handled[w], retry)
         fi;
         finish(w)
     }
  :: d_step {
       isHandling(w) && releases > 0 ->
         releases--;
         end_row(KEY, lease[w], handled[w], release);
         started[handled[w]] = started[handled[w]] - (result == settled -> 1 : 0);
         finish(w)
     }
  :: d_step { !isIdle(w) && crashes > 0 -> crashes--; give_up(w) }
  :: d_step { !isIdle(w) && !isDisturbed[w] && pauses > 0 -> pauses--; isDisturbed[w] = true }
  od
}

proctype sender(byte r) {
  d_step { insert(r); isVolatile = false }
}

/* Time passes while something waits for it. Workers that are not disturbed renew their leases. */
active proctype time() {
  byte w;
  do
  :: d_step {
       (key[KEY].wake > 0 && key[KEY].wake != NEVER) ->
         tick();
         for (w : 0 .. WORKERS - 1) {
           if
           :: !isIdle(w) && !isDisturbed[w] ->
                renew(KEY, lease[w]);
                if
                :: result == lost -> give_up(w)
                :: else
                fi
           :: else
           fi
         };
         w = 0
     }
  od
}

active proctype request() {
  if
  :: d_step { advances > 0 -> advances--; advance_head(KEY, ROWS - 1); isVolatile = false }
  :: true
  fi
}

/* A claim that a crash of the database lost is a lease that ended. */
active proctype database() {
  byte w;
  if
  :: d_step {
       lostClaims > 0 && isVolatile && key[KEY].worker != 0 ->
         lostClaims--;
         isVolatile = false;
         for (w : 0 .. WORKERS - 1) { isDisturbed[w] = (lease[w].worker == key[KEY].worker -> true : isDisturbed[w]) };
         w = 0;
         key[KEY].worker = 0;
         key[KEY].generation--;
         key[KEY].claimed = 0;
         key[KEY].wake = 0
     }
  :: true
  fi
}

#if ROWS > 2
#define isQuiet (hasEnded(0) && hasEnded(1) && hasEnded(2) && key[KEY].worker == 0)
#else
#define isQuiet (hasEnded(0) && hasEnded(ROWS - 1) && key[KEY].worker == 0)
#endif

/* When nothing more can happen: every event has ended, and each end is right. */
active proctype finally() {
  byte r;
  timeout ->
  d_step {
    assert(isQuiet);
    for (r : 0 .. ROWS - 1) {
      assert(effects[r] == (row[r].state == dead -> 0 : 1));
      assert(row[r].state != done || key[KEY].head >= position(r));
      assert(row[r].state != stale || key[KEY].head >= position(r));
      assert(row[r].state != dead || row[r].attempts >= ATTEMPTS)
    }
  }
}

init {
  byte i;
  atomic {
    for (i : 0 .. ROWS - 1) { run sender(i) };
    for (i : 0 .. WORKERS - 1) { run receiver(i) }
  }
}

#ifdef FAIR
ltl ends { <> isQuiet }
#endif
