// Package redisstore implements the contract of package store on Redis 7.0 or newer: a
// standalone server, servers behind Sentinel, or a Cluster. store/storetest verifies the
// contract on all three.
//
// The package owns all keys and channels that begin with its prefix, and the goroutines of a
// [Store]. It does not own the client: a program creates one with the options of [ParseURL],
// opens a [Store] on it, and closes the client after the Store. A Store and its parts are
// safe for concurrent use.
//
// # Keys
//
// Keys are `<prefix>:{pN}:...` where N is the CRC-16 of the session's id modulo 64, so all
// keys of a session are in one Cluster slot and one script can touch them together. Scripts
// receive every other key they touch. A session has the keys
//
//	s:<id>:meta   hash    user, card, times, lease, state of the log; also the channel
//	s:<id>:log    stream  one entry per batch, its id the position of its last event
//	s:<id>:t:<x>  hash    a table
//	s:<id>:l:<x>  list    a list
//	s:<id>:names  set     the names of all tables and lists
//	s:<id>:inbox  stream  commands, and the channel that wakes the owner; s:<id>:ids and
//	                      s:<id>:done detect duplicates
//	s:<id>:pack   string  all of these but meta, compressed, while the session is dormant
//
// and a partition has the shared leases of incarnations (without a Cluster, partition 0 has all
// of them), the list of its sessions by id and by last change (both also by user), of
// those with unfinished work, of those in quarantine, and the highest epoch of its deleted
// sessions. Scripts derive the keys of the lists by last change from that of meta, which names
// the user. Semaphores and
// collections of documents belong to the partition of their name. The header of each Lua file
// documents its keys.
//
// # Packs
//
// Pack replaces the keys of a dormant session by one compressed string of the same sealed
// values. The script that stores it removes the other keys; Claim and Send, which need them,
// restore them with one script before. So a session is packed or not, never in part. Reads
// take the content from the pack. Before its first pack a process raises the format of the
// store, so that earlier versions refuse to open it.
//
// # Commits
//
// A commit is one transaction: a script that decides, and the XADD that the script permits.
// Logs are locked (their last id is the greatest possible one) unless a script has just
// accepted a batch, so no entry is added without the script, not even if Redis has lost the
// script. Keeping the frames out of the script's arguments avoids hashing them in Lua and
// makes commits of 4 KiB about a third cheaper for Redis. Commits of different sessions share
// transactions and pipelines without any delay: the writes that arrive while one pipeline is
// in flight form the next.
//
// The entry of a claim stores replica, prev and time instead of the event, because the script
// chooses the epoch from the clock of Redis.
//
// # Notifications
//
// The commit script returns the number of subscribers of the session's channel. If there are
// any, the committing process publishes the entry with its next pipeline, and Commit returns
// after that: tabs at all replicas get the events at about the same time, so that what they send
// in reply shares a commit. Claims, releases and deletions are published by their scripts. The owner listens to another channel, that of its
// inbox, on which commands and claims are announced. Messages are hints: a tail yields one only
// if it continues what the tail yielded before, and reads the log otherwise; the owner does the
// same with commands and the inbox. A tail also reads the log after every new pub/sub
// connection. Connections are checked every 5 s, and an entry whose publication failed is
// published again, so messages are not lost while connections work. If one is nevertheless, it
// costs time and never an event: the position of a tail is checked every 10 min, and an inbox
// that stays empty is polled after 5 s and then less and less, up to every 10 min. Channels are
// sharded; in a Cluster
// there is one connection per partition with listeners.
//
// [Signals] publishes texts on a third channel of a session, which exists while a replica listens. They are not in the
// log, and a lost one is not sent again.
//
// # Outages and data loss
//
// Every call obeys its context. A call that was certainly not executed (moved slot, a replica
// that is not master yet, data still being loaded, no connection) is retried for RetryFor. So
// is a call whose reply was lost, if repeating it is safe: reads, Commit, Renew, Send, slots,
// Announce, Quarantine. Create, Claim, Release, Delete, Discard, Put and Remove are not
// retried then: they fail with [store.ErrUnavailable] and may or may not have been executed.
// No other layer may retry, so Open refuses a client that does. Tail and a waiting Acquire
// continue through an outage once they have begun.
//
// Redis replicates asynchronously, so a failover may lose acknowledged commits; so may a
// killed Redis unless its appendfsync is always. A durable commit waits for a second node
// (WAIT, at most ReplicaWait) and its receipt reports the result. A loss is always detected:
// the owner's next commit is a *store.GapError, or ErrFenced if even its claim is lost, and
// positions are not reused, because the epoch of a new claim is not before the clock. Two
// Redis hosts whose clocks differ by more than the time between a lost claim and the next one
// could break that.
//
// When memory is full ([store.ErrNoSpace]), operations that need none go on: reads, renewals,
// releases, deletions. While a Cluster migrates the slot of a partition, its sessions are
// unavailable: scripts touch keys that do not exist, and Redis replies TRYAGAIN until the
// migration is done.
//
// # Refusals
//
// Open refuses Redis before 7.0, a maxmemory-policy other than noeviction (unless
// AllowEviction), a store format newer than its own, and clients that retry or ignore
// contexts. Unreadable data, or a key of a wrong type, quarantines its session; values of a
// newer schema are refused and left unchanged. A key of a wrong type that many sessions share
// is moved to `<prefix>:{pN}:aside:...` and rebuilt from the sessions, or starts empty.
package redisstore
