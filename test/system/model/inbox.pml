/*
 * The inbox of the receiver kit: its rows, its ordering keys, and its calls. Each call is one step, as
 * receiver-kit/inbox/inbox.ts promises.
 *
 * Time is counted in ticks until something happens. The row r belongs to the key r % KEYS; of the rows of a key the one
 * with the higher number is the newer event. What is left out is listed in docs/maintainers/proof.md.
 */

#ifndef KEYS
#define KEYS 1
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2  /* attemptsMax */
#endif
#ifndef LEASE
#define LEASE 1     /* ticks */
#endif
#ifndef RETRY
#define RETRY 1     /* ticks */
#endif
#define NEVER 99
#define absent 0

mtype = { pending, done, stale, dead };        /* of a row; the last three are ends */
mtype = { retry, release };                    /* of an attempt that failed, besides dead */
mtype = { settled, superseded, lost };         /* what a call returns */

typedef Row {
  mtype state;
  byte attempts;    /* that have ended */
  byte due          /* ticks until it may be claimed */
};
typedef Key {
  byte id;          /* 0: there is no such key */
  byte worker;      /* name of the claim that holds the lease, 0: free */
  byte generation;
  byte claimed;     /* a bit for each row of that claim that has not ended; the first one is being handled */
  byte suspects;    /* rows of an expired claim, which are claimed one at a time */
  byte wake = NEVER;/* ticks until there is something to do: a row is due, or the lease ends */
  byte head         /* position of the newest event that was applied, 0: none */
};
typedef Lease {     /* what a claim returns, and the worker keeps */
  byte id;
  byte worker;
  byte generation;
  byte head;        /* advanced by the worker as its rows are applied */
  byte rows;        /* a bit for each claimed row that is not handled yet */
  byte open         /* a bit for each claimed row that has not ended */
};

Row row[ROWS];
Key key[KEYS];
byte names;         /* claims so far: each has a name of its own */
byte ids;           /* keys so far: one that is deleted and created again is another one */

byte effects[ROWS]; /* what the transactions of the handlers have written: once per event */
byte applied[KEYS]; /* position of the newest event that a state handler has seen */
hidden mtype result;
hidden byte r_, k_, count_, next_, max_, gone_;

#define keyOf(r) ((r) % KEYS)
#define position(r) ((r) + 1)
#define bit(r) (1 << (r))
#define hasEnded(r) (row[r].state == done || row[r].state == stale || row[r].state == dead)
#define isHeld(k, l) (key[k].id == l.id && key[k].worker == l.worker && key[k].generation == l.generation)
#define isDue(k) (key[k].wake == 0)

inline count_waiting(k) {
  count_ = 0;
  for (r_ : 0 .. ROWS - 1) {
    if
    :: keyOf(r_) == k && row[r_].state == pending -> count_++
    :: else
    fi
  }
}

inline create(k) {
  if
  :: key[k].id == 0 -> ids++; key[k].id = ids
  :: else
  fi
}

/* Sets when the key has something to do. One without rows has nothing; without a head, too, it is deleted. */
inline wake_in(k, ticks) {
  count_waiting(k);
  if
  :: count_ > 0 -> key[k].wake = ticks
  :: else -> key[k].wake = NEVER
  fi;
  if
  :: count_ == 0 && key[k].head == 0 -> key[k].id = 0; key[k].generation = 0; key[k].suspects = 0
  :: else
  fi
}

/* A row that is stored already, in whatever state, is a duplicate. */
inline insert(r) {
  if
  :: row[r].state == absent ->
       row[r].state = pending;
       create(keyOf(r));
       if
       :: key[keyOf(r)].worker == 0 -> key[keyOf(r)].wake = 0
       :: else
       fi
  :: else
  fi
}

/* The lease expired: the row that was being handled has an attempt more, or is dead after its last one. */
inline recover(k) {
  count_ = 0;
  gone_ = 0;
  for (r_ : 0 .. ROWS - 1) {
    if
    :: key[k].claimed & bit(r_) ->
         count_++;
         if
         :: count_ == 1 ->
              row[r_].attempts++;
              if
              :: row[r_].attempts >= ATTEMPTS -> row[r_].state = dead; gone_ = 1
              :: else
              fi
         :: else
         fi
    :: else
    fi
  };
  key[k].suspects = count_ - gone_;
  key[k].worker = 0;
  key[k].claimed = 0;
  wake_in(k, 0)
}

/* Takes the lease of a key with its first due rows. l.rows is 0 when there are none. Follows names++. */
inline claim(k, rowsPerKeyMax, l) {
  l.rows = 0;
  if
  :: isDue(k) && key[k].worker != 0 -> recover(k)
  :: else
  fi;
  if
  :: isDue(k) ->
       max_ = (key[k].suspects > 0 -> 1 : rowsPerKeyMax);
       count_ = 0;
       next_ = NEVER;
       for (r_ : 0 .. ROWS - 1) {
         if
         :: keyOf(r_) != k || row[r_].state != pending
         :: else ->
              if
              :: row[r_].due == 0 && count_ < max_ -> l.rows = l.rows | bit(r_); count_++
              :: row[r_].due > 0 && row[r_].due < next_ -> next_ = row[r_].due
              :: else
              fi
         fi
       };
       if
       :: count_ == 0 -> key[k].wake = next_
       :: else ->
            key[k].worker = names;
            key[k].generation++;
            key[k].claimed = l.rows;
            key[k].wake = LEASE;
            l.id = key[k].id;
            l.worker = names;
            l.generation = key[k].generation;
            l.head = key[k].head;
            l.open = l.rows
       fi
  :: else
  fi
}

inline forget(l) {
  l.id = 0;
  l.worker = 0;
  l.generation = 0;
  l.head = 0;
  l.rows = 0;
  l.open = 0
}

inline renew(k, l) {
  if
  :: isHeld(k, l) -> key[k].wake = LEASE; result = settled
  :: else -> result = lost
  fi
}

/* Ends the attempt of a claimed row: with done, stale, dead, retry or release. The end of the last row ends the lease. */
inline end_row(k, l, r, outcome) {
  l.open = l.open & ~bit(r);
  if
  :: isHeld(k, l) && row[r].state == pending ->
       row[r].attempts = row[r].attempts + (outcome == release -> 0 : 1);
       if
       :: outcome == retry -> row[r].due = RETRY
       :: outcome == release
       :: else ->
            row[r].state = outcome;
            key[k].suspects = (key[k].suspects > 0 -> key[k].suspects - 1 : 0);
            if
            :: outcome == done -> key[k].head = position(r)
            :: else
            fi
       fi;
       if
       :: l.open == 0 ->
            key[k].worker = 0;
            key[k].claimed = 0;
            count_waiting(k);
            next_ = (count_ == 1 && outcome == retry -> RETRY : 0);
            wake_in(k, next_)
       :: else -> key[k].claimed = key[k].claimed & ~bit(r)
       fi;
       result = settled
  :: else -> result = lost
  fi
}

/*
 * The transaction of a row: its handler's writes, its end and the advance of the head, or nothing. The worker knows that the
 * event is stale when it is not newer than the head at the claim; one that was applied since supersedes it.
 */
inline settle(k, l, r) {
  if
  :: l.head >= position(r) ->
       end_row(k, l, r, stale)
  :: l.head < position(r) && isHeld(k, l) && row[r].state == pending && key[k].head >= position(r) ->
       result = superseded
  :: else ->
       end_row(k, l, r, done);
       if
       :: result == settled ->
            assert(position(r) > applied[k]);  /* no state goes back */
            applied[k] = position(r)
       :: else
       fi
  fi;
  if
  :: result == settled ->
       effects[r]++;
       assert(effects[r] == 1)                 /* an effect takes place once */
  :: else
  fi
}

/* A request applies an event of its own, as orderWebhook does. */
inline advance_head(k, p) {
  if
  :: key[k].head < p ->
       create(k);
       key[k].head = p;
       assert(p > applied[k]);
       applied[k] = p
  :: else
  fi
}

inline tick() {
  for (k_ : 0 .. KEYS - 1) {
    if
    :: key[k_].wake > 0 && key[k_].wake != NEVER -> key[k_].wake--
    :: else
    fi
  };
  for (r_ : 0 .. ROWS - 1) {
    if
    :: row[r_].due > 0 -> row[r_].due--
    :: else
    fi
  }
}
