/*
 * The way of a delivery over a broker into the inbox. The intake responds 200 after the broker's confirm; the broker
 * delivers until it is acknowledged; the consumer stores a batch and then acknowledges what is stored.
 */

#include "inbox.pml"

#ifndef MESSAGES
#define MESSAGES 4
#endif
#ifndef FAILOVERS
#define FAILOVERS 1   /* of the broker: what it has not confirmed may be lost */
#endif
#ifndef DISCONNECTS
#define DISCONNECTS 1 /* of the consumer, or its crash: what it has not acknowledged is delivered again */
#endif
#ifndef FAILURES
#define FAILURES 1    /* of the inbox to store a row */
#endif
#ifndef LOSSES
#define LOSSES 1      /* of a response or of a confirm: the service sends the delivery again */
#endif

mtype = { free, written, confirmed, delivered }; /* of a message */

typedef Message { mtype state = free; byte event };

Message message[MESSAGES];
byte published[ROWS] = NEVER; /* the message for which the request waits */
bool isPromised[ROWS];        /* 200 was sent */
bool isKnown[ROWS];           /* and received */
byte batch, storedOnes;       /* messages that the consumer stores */
byte failovers = FAILOVERS, disconnects = DISCONNECTS, failures = FAILURES, losses = LOSSES;
hidden byte m_;

inline in_queue(e) {
  count_ = 0;
  for (m_ : 0 .. MESSAGES - 1) {
    if
    :: message[m_].event == e && (message[m_].state == confirmed || message[m_].state == delivered) -> count_++
    :: else
    fi
  }
}

/* What was acknowledged is in the queue or in the inbox. */
inline check(e) {
  in_queue(e);
  assert(!isPromised[e] || row[e].state != absent || count_ > 0)
}

/* One delivery: the service sends it until it has received 200. */
proctype request(byte e) {
  byte m;
  do
  :: d_step {
       !isKnown[e] && published[e] == NEVER ->
         for (m : 0 .. MESSAGES - 1) {
           if
           :: message[m].state == free -> break
           :: else
           fi
         };
         if
         :: m < MESSAGES -> message[m].state = written; message[m].event = e; published[e] = m
         :: else
         fi;
         m = 0
     }
  :: d_step {
       published[e] != NEVER && message[published[e]].state != written ->
         published[e] = NEVER;
         isPromised[e] = true;
         isKnown[e] = true;
         check(e)
     }
  :: d_step { published[e] != NEVER && losses > 0 -> losses--; published[e] = NEVER }
  :: d_step {
       isKnown[e] && losses > 0 -> losses--; isKnown[e] = false
     }
  od
}

proctype broker(byte m) {
  do
  :: d_step { message[m].state == written -> message[m].state = confirmed }
  :: d_step {
       message[m].state == written && failovers > 0 ->
         failovers--;
         message[m].state = free;
         published[message[m].event] = NEVER
     }
  :: d_step { message[m].state == confirmed -> message[m].state = delivered }
  od
}

inline acknowledge(messages) {
  for (m_ : 0 .. MESSAGES - 1) {
    if
    :: messages & bit(m_) -> message[m_].state = free
    :: else
    fi
  };
  for (k_ : 0 .. ROWS - 1) { check(k_) }
}

active proctype consumer() {
  byte m;
  do
  :: d_step {
       batch == 0 ->
         for (m : 0 .. MESSAGES - 1) { batch = batch | (message[m].state == delivered -> bit(m) : 0) };
         m = 0
     }
  :: d_step { m < MESSAGES && batch != 0 && !(batch & bit(m)) -> m++ }
  :: d_step { m < MESSAGES && (batch & bit(m)) -> insert(message[m].event); storedOnes = storedOnes | bit(m); m++ }
  :: d_step { m < MESSAGES && (batch & bit(m)) && failures > 0 -> failures--; m++ }
  :: d_step { m == MESSAGES -> acknowledge(storedOnes); batch = 0; storedOnes = 0; m = 0 }
  :: d_step {
       disconnects > 0 ->
         disconnects--;
         for (m : 0 .. MESSAGES - 1) {
           if
           :: message[m].state == delivered -> message[m].state = confirmed
           :: else
           fi
         };
         batch = 0;
         storedOnes = 0;
         m = 0
     }
  od
}

/* A worker. */
proctype receiver(byte e) {
  do
  :: d_step { row[e].state == pending -> row[e].state = done; effects[e]++; assert(effects[e] == 1) }
  od
}

#define isEmpty(m) (message[m].state == free)
#define isQuiet (hasEnded(0) && hasEnded(1) && isKnown[0] && isKnown[1] && isEmpty(0) && isEmpty(1) && isEmpty(2) && isEmpty(MESSAGES - 1))

active proctype finally() {
  timeout -> assert(isQuiet)
}

init {
  byte i;
  atomic {
    for (i : 0 .. ROWS - 1) { run request(i); run receiver(i) };
    for (i : 0 .. MESSAGES - 1) { run broker(i) }
  }
}

#ifdef FAIR
ltl ends { <> isQuiet }
#endif
