/*
 * Handlers of several keys in one transaction of a database. They take turns in the order of their rows. The model allows
 * more than the inboxes do: a statement may be executed before its turn. A handler that fails is rolled back to its
 * savepoint, and so is what was executed behind it. The rows of those that were kept end in one statement, which checks their leases and locks their keys until
 * the commit. When one was lost, all are rolled back and repeated, each alone. Each key has one row.
 */

#define KEYS 2
#define ROWS 2
#include "inbox.pml"

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef PAUSES
#define PAUSES 1
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef LOSSES
#define LOSSES 1      /* of the connection while its COMMIT is in progress */
#endif
#ifndef ADVANCES
#define ADVANCES 1
#endif

Lease lease[4];       /* one for each worker and key */
byte written[2];      /* rows whose handlers have written into the worker's transaction */
byte kept[2];         /* those whose handlers have ended */
byte checked[2];      /* those that ended in the transaction; their keys are locked until it commits */
byte inDoubt[2];      /* those in a transaction whose connection was lost: the server commits it, or does not */
byte alone[2];        /* rows to be repeated, each in a transaction of its own */
bool isDisturbed[2];
byte crashes = CRASHES, pauses = PAUSES, failures = FAILURES, losses = LOSSES, advances = ADVANCES;
hidden byte isValid;
hidden Lease own;

#define leaseOf(w, k) lease[(w) * KEYS + (k)]
#define isClaimed(w, r) (leaseOf(w, r).rows != 0)
#define isIdle(w) (leaseOf(w, 0).rows == 0 && leaseOf(w, 1).rows == 0)
#define isLocked(k) ((checked[0] | checked[1] | inDoubt[0] | inDoubt[1]) & bit(k))
#define isTurn(w, r) ((written[w] & ~kept[w] & (bit(r + 1) - 1)) == bit(r))
#define isFree(w, r) (!((written[w] | alone[w] | checked[w]) & bit(r)))

inline finish(w, e) {
  forget(leaseOf(w, e));
  alone[w] = alone[w] & ~bit(e);
  isDisturbed[w] = (isIdle(w) -> false : isDisturbed[w])
}

/* The handlers of a claimed row: in the shared transaction, or alone. */
proctype member(byte w; byte e) {
  do
  :: d_step { isClaimed(w, e) && isFree(w, e) && !checked[w] -> written[w] = written[w] | bit(e) }
  :: d_step { isTurn(w, e) -> kept[w] = kept[w] | bit(e) }
  :: d_step {
       isTurn(w, e) && failures > 0 && !isLocked(e) ->
         failures--;
         written[w] = kept[w];  /* back to the savepoint */
         if
         :: row[e].attempts + 1 >= ATTEMPTS -> end_row(e, leaseOf(w, e), e, dead)
         :: else -> end_row(e, leaseOf(w, e), e, retry)
         fi;
         finish(w, e)
     }
  :: d_step {
       (alone[w] & bit(e)) && !isLocked(e) ->
         settle(e, leaseOf(w, e), e);
         if
         :: result == superseded -> end_row(e, leaseOf(w, e), e, release)
         :: else
         fi;
         finish(w, e)
     }
  od
}

/* The writes and ends of the rows become visible. Their keys were locked, so the leases are those that were checked. */
inline apply(rows) {
  for (k_ : 0 .. KEYS - 1) {
    if
    :: rows & bit(k_) ->
         own.id = key[k_].id;
         own.worker = key[k_].worker;
         own.generation = key[k_].generation;
         own.head = key[k_].head;
         own.open = bit(k_);
         settle(k_, own, k_);
         assert(result == settled)
    :: else
    fi
  }
}

inline repeat_alone(w, rows) {
  alone[w] = alone[w] | rows;
  written[w] = 0;
  kept[w] = 0;
  checked[w] = 0
}

proctype transaction(byte w) {
  byte i;
  do
  :: d_step {  /* the ends of all rows, in one statement */
       kept[w] != 0 && written[w] == kept[w] && checked[w] == 0 && !isLocked(0) && !isLocked(1) ->
         isValid = true;
         for (i : 0 .. KEYS - 1) {
           if
           :: (kept[w] & bit(i)) && !(isHeld(i, leaseOf(w, i)) && row[i].state == pending) -> isValid = false
           :: (kept[w] & bit(i)) && leaseOf(w, i).head < position(i) && key[i].head >= position(i) -> isValid = false
           :: else
           fi
         };
         i = 0;
         if
         :: isValid -> checked[w] = kept[w]
         :: else -> repeat_alone(w, kept[w])
         fi
     }
  :: d_step {  /* COMMIT */
       checked[w] != 0 ->
         apply(checked[w]);
         for (i : 0 .. KEYS - 1) {
           if
           :: checked[w] & bit(i) -> finish(w, i)
           :: else
           fi
         };
         i = 0;
         repeat_alone(w, 0)
     }
  :: d_step {  /* its result is not known */
       checked[w] != 0 && losses > 0 && inDoubt[w] == 0 ->
         losses--;
         inDoubt[w] = checked[w];
         repeat_alone(w, checked[w])
     }
  od
}

active proctype server() {
  do
  :: d_step { inDoubt[0] != 0 -> apply(inDoubt[0]); inDoubt[0] = 0 }
  :: d_step { inDoubt[0] != 0 -> inDoubt[0] = 0 }
  :: d_step { inDoubt[1] != 0 -> apply(inDoubt[1]); inDoubt[1] = 0 }
  :: d_step { inDoubt[1] != 0 -> inDoubt[1] = 0 }
  od
}

proctype receiver(byte w) {
  byte i;
  do
  :: d_step {  /* claims skip what is locked */
       isIdle(w) && ((isDue(0) && !isLocked(0)) || (isDue(1) && !isLocked(1))) ->
         names++;
         for (i : 0 .. KEYS - 1) {
           if
           :: !isLocked(i) -> claim(i, 1, leaseOf(w, i))
           :: else
           fi
         };
         i = 0
     }
  :: d_step {  /* its COMMIT may be in progress */
       !isIdle(w) && crashes > 0 && inDoubt[w] == 0 ->
         crashes--;
         inDoubt[w] = checked[w];
         repeat_alone(w, 0);
         alone[w] = 0;
         for (i : 0 .. KEYS - 1) { forget(leaseOf(w, i)) };
         i = 0;
         isDisturbed[w] = false
     }
  :: d_step { !isIdle(w) && !isDisturbed[w] && pauses > 0 -> pauses--; isDisturbed[w] = true }
  od
}

active proctype time() {
  byte w, i;
  do
  :: d_step {
       (key[0].wake > 0 && key[0].wake != NEVER) || (key[1].wake > 0 && key[1].wake != NEVER) ->
         tick();
         for (w : 0 .. WORKERS - 1) {
           for (i : 0 .. KEYS - 1) {
             if
             :: isClaimed(w, i) && !isDisturbed[w] && !isLocked(i) -> renew(i, leaseOf(w, i))
             :: else
             fi
           }
         };
         w = 0;
         i = 0
     }
  od
}

active proctype request() {
  if
  :: d_step { advances > 0 && !isLocked(0) -> advances--; advance_head(0, position(0)) }
  :: true
  fi
}

#define isQuiet (hasEnded(0) && hasEnded(1) && key[0].worker == 0 && key[1].worker == 0)

active proctype finally() {
  byte e;
  timeout ->
  d_step {
    assert(isQuiet);
    for (e : 0 .. ROWS - 1) {
      assert(effects[e] == (row[e].state == dead -> 0 : 1));
      assert(row[e].state == dead || key[e].head >= position(e));
      assert(row[e].state != dead || row[e].attempts >= ATTEMPTS)
    }
  }
}

init {
  byte w, e;
  atomic {
    for (e : 0 .. ROWS - 1) { insert(e) };
    for (w : 0 .. WORKERS - 1) {
      run receiver(w);
      run transaction(w);
      for (e : 0 .. ROWS - 1) { run member(w, e) }
    }
  }
}

#ifdef FAIR
ltl ends { <> isQuiet }
#endif
