// Package redisstore keeps sessions in Redis 7.0 or newer: one server, servers
// behind Sentinel, or a Cluster. Package store says what it promises and
// store/storetest proves it on all three.
//
// It owns all keys and channels that begin with its prefix, and the goroutines
// of a [Store]; the client belongs to whoever made it. A program makes one with
// the options of [ParseURL], opens a [Store] on it and gives that to whoever
// needs a store; any goroutine may call it.
//
// # How it keeps things
//
// Keys are `<prefix>:{pN}:...` where N is the CRC-16 of the session's id modulo
// 64, so all keys of a session are in one Cluster slot and a script may touch
// them together. Scripts are told every key they touch. Per session there are
//
//	s:<id>:meta   hash    user, card, times, lease, state of the log; also the channel
//	s:<id>:log    stream  one entry per batch, its id the position of its last event
//	s:<id>:t:<x>  hash    a table
//	s:<id>:l:<x>  list    a list
//	s:<id>:names  set     which tables and lists there are
//	s:<id>:inbox  stream  commands; s:<id>:ids and s:<id>:done tell duplicates
//
// and per partition the sessions (also by user), those that are working, those
// that are quarantined, and the highest epoch of those that were deleted.
// Semaphores and collections of documents have a partition by their names. Each
// Lua file says what it does with which of them.
//
// A commit is one transaction: a script that decides, and the XADD that it lets
// in. Logs are locked (their last id is the highest there is) unless a script
// has just said yes, so nothing gets in without one, not even when Redis has
// forgotten the script. The detour keeps the bytes of events out of Lua, which
// hashes every byte it is given; it makes commits of 4 KiB about a third cheaper
// for Redis. Commits of different sessions share transactions and pipelines, and
// nobody waits for company: what arrives while one pipeline is under way makes
// the next.
//
// A claim's entry keeps replica, prev and time instead of the event, because the
// epoch is chosen in the script, from Redis' clock.
//
// # News
//
// The script tells how many listen to a session; if that is more than its owner,
// who waits for commands, the entry is also published, right after the commit and
// by whoever made it. Claims, releases,
// deletions and commands are published by their scripts. Messages are hints: a
// tail shows one only if it follows what it showed before, and otherwise reads
// the log. It also does so after every new pub/sub connection and when a regular
// check (each 5 s) finds that the log ends elsewhere. So what is lost on the way
// costs time and never an event. Channels are sharded; in a Cluster there is a
// connection per partition that somebody listens to.
//
// # When Redis is slow, away, or forgetful
//
// Every call obeys its context. What was certainly not carried out (a moved
// slot, a replica that is not master yet, data still being loaded, no
// connection) is tried again for RetryFor; so is a call whose answer was lost,
// if it may be repeated: reads, Commit, Renew, Send, slots, Announce, Quarantine.
// Create, Claim, Release, Delete, Discard, Put and Remove are not: they end as
// [store.ErrUnavailable] and may or may not have happened. Nothing else retries,
// which is why Open refuses a client that does. Tails and those who wait for a
// slot stay through an outage once they have begun.
//
// Redis replicates behind its own answers, so a failover may lose commits that
// were acknowledged; so may a killed Redis unless its appendfsync is always. A
// durable commit waits for a second node (WAIT, for at most
// ReplicaWait) and its receipt says whether one has it. A loss never goes
// unnoticed: the owner's next commit is a *store.GapError, or ErrFenced if even
// its claim is gone, and positions are not used again, because a new claim's
// epoch is not before the clock. Two Redis hosts whose clocks differ by more
// than the time between a lost claim and the next could break that.
//
// When memory is full ([store.ErrNoSpace]) everything that needs none goes on:
// reads, renewals, releases, deletions. While a Cluster moves the slot of a
// partition, its sessions are unavailable: scripts touch keys that do not exist,
// and Redis asks to try again until the slot has arrived.
//
// # What it refuses
//
// Redis before 7.0; a maxmemory-policy other than noeviction (unless
// AllowEviction); a store format newer than its own; clients that retry or that
// ignore contexts. Data that cannot be read, or a key of a wrong type, sets its
// session aside; values of a newer schema are refused and left alone. A key that
// many sessions share and that is of a wrong type is put away under
// `<prefix>:{pN}:aside:...` and made anew from the sessions, or begins empty.
package redisstore
