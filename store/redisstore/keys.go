package redisstore

import (
	"strconv"

	"github.com/everdesk/everdesk/wire"
)

// partitions is the number of hash tags. All keys of a session share one, so that a script
// can touch them all in a Cluster, and there are few, so that one pub/sub connection per
// tag is affordable. It is part of the stored format.
const partitions = 64

// keyspace builds all keys.
type keyspace struct{ prefix string }

// partition returns the partition of a session, semaphore or collection.
func partition(name string) uint16 { return crc16(name) % partitions }

// at returns `<prefix>:{p<partition>}:<part>:<part>...`. Parts that may contain colons come
// last, so that keys are unambiguous.
func (k keyspace) at(partition uint16, parts ...string) string {
	return string(k.appendAt(make([]byte, 0, 128), partition, parts...))
}

func (k keyspace) appendAt(b []byte, partition uint16, parts ...string) []byte {
	b = append(append(b, k.prefix...), ":{p"...)
	b = append(strconv.AppendUint(b, uint64(partition), 10), '}')
	for _, p := range parts {
		b = append(append(b, ':'), p...)
	}
	return b
}

// Partition returns the failure domain of a session: in a Cluster its partition, whose
// sessions are on the same server, and 0 otherwise.
func (s *Sessions) Partition(session wire.SessionID) int {
	return int(s.leasePartition(partition(string(session))))
}

// leasePartition returns the partition that has the shared leases for the sessions of a
// partition: in a Cluster itself, because a script may touch one slot only, and 0 otherwise.
func (c *caller) leasePartition(partition uint16) uint16 {
	if c.servers.cluster == nil {
		return 0
	}
	return partition
}

// sharedLeases is a hash: the number of an incarnation to the end of its lease in ms.
func (k keyspace) sharedLeases(partition uint16) string { return k.at(partition, "leases") }

// sessionKeys are the keys of one session and of its partition.
type sessionKeys struct {
	space     keyspace
	partition uint16
	base      string
}

func (k keyspace) session(id wire.SessionID) sessionKeys {
	p := partition(string(id))
	return sessionKeys{space: k, partition: p, base: k.at(p, "s", string(id), "")}
}

// meta is a hash: user, card, times, lease and the state of the log. It is also the name of
// the channel for messages about the session.
func (k sessionKeys) meta() string { return k.base + "meta" }

// log is a stream with one entry per batch.
func (k sessionKeys) log() string { return k.base + "log" }

// inbox is a stream with one entry per command. It is also the name of the channel that
// wakes the owner.
func (k sessionKeys) inbox() string { return k.base + "inbox" }

// signals is not a key but the name of the channel of [Signals].
func (k sessionKeys) signals() string { return k.base + "signals" }

// ids is a hash: command id to its entry in the inbox and a digest, or to "-"
// once consumed.
func (k sessionKeys) ids() string { return k.base + "ids" }

// done is a list of consumed command ids, oldest first.
func (k sessionKeys) done() string { return k.base + "done" }

// names is a set of the structures that exist: "t:<table>" and "l:<list>".
func (k sessionKeys) names() string { return k.base + "names" }

// pack is a string: the whole content of a dormant session, or the reference to the object that
// has it.
func (k sessionKeys) pack() string { return k.base + "pack" }

// objects is a sorted set, with the key "cold": not the cold sessions, but objects that no reference of the
// partition needs, by the time in ms at which they were noted, or 0 if none will ever need them.
// Discard notes objects that are still needed, too.
func (k sessionKeys) objects() string { return k.space.objects(k.partition) }

func (k keyspace) objects(partition uint16) string { return k.at(partition, "cold") }

// structure is the key of a table or a list.
func (k sessionKeys) structure(name string) string { return k.base + name }

func tableName(table string) string { return "t:" + table }
func listName(list string) string   { return "l:" + list }

// quarantine is a hash: session to reason. It is separate from the sessions, so that a
// session whose own keys have a wrong type can be quarantined.
func (k sessionKeys) quarantine() string { return k.space.quarantine(k.partition) }

func (k keyspace) quarantine(partition uint16) string { return k.at(partition, "quarantine") }

// floor is the highest epoch of a deleted session.
func (k sessionKeys) floor() string { return k.space.at(k.partition, "floor") }

// rebuildMark is a string: it is set when a list of the partition is moved aside and
// removed when all lists are rebuilt.
func (k sessionKeys) rebuildMark() string { return k.space.rebuildMark(k.partition) }

func (k keyspace) rebuildMark(partition uint16) string { return k.at(partition, "mending") }

// working is a sorted set: sessions with unfinished work by the end of their own lease, or
// by the number of the incarnation whose lease keeps them.
func (k sessionKeys) working() string { return k.space.working(k.partition) }

func (k keyspace) working(partition uint16) string { return k.at(partition, "working") }

// sessions is a sorted set of all sessions of a partition, in the order of ids.
func (k keyspace) sessions(partition uint16) string { return k.at(partition, "sessions") }

// userSessions is the part of sessions that belongs to a user.
func (k keyspace) userSessions(partition uint16, user string) string {
	return k.at(partition, "user", user)
}

// recent is a sorted set of the sessions of a partition by the second of their last change.
func (k keyspace) recent(partition uint16) string { return k.at(partition, "recent") }

// userRecent is the part of recent that belongs to a user.
func (k keyspace) userRecent(partition uint16, user string) string {
	return k.at(partition, "recent", user)
}

// replicas returns two keys: replicas by expiry, and their cards.
func (k keyspace) replicas() []string {
	p := partition("replicas")
	return []string{k.at(p, "replicas"), k.at(p, "replicas.cards")}
}

// storage is a string: the id of the storage that has the cold sessions.
func (k keyspace) storage() string { return k.at(partition("storage"), "storage") }

// format is a string: the version of the stored format.
func (k keyspace) format() string { return k.at(partition("format"), "format") }

// replicaKinds and semaphoreKinds are the Redis types of the keys of replicas and semaphores.
func replicaKinds() []string   { return []string{"zset", "hash"} }
func semaphoreKinds() []string { return []string{"zset", "zset", "zset", "hash"} }

// semaphore returns the four keys of slots.lua. The first is also the channel on which
// granted slots are published.
func (k keyspace) semaphore(name string) []string {
	p := partition(name)
	return []string{
		k.at(p, "sem.holders", name), k.at(p, "sem.tickets", name), k.at(p, "sem.waiters", name), k.at(p, "sem.facts", name),
	}
}

// rate is the hash of take.lua.
func (k keyspace) rate(key string) string { return k.at(partition(key), "rate", key) }

// collection returns the four keys of docs.lua.
func (k keyspace) collection(name string) []string {
	p := partition(name)
	return []string{
		k.at(p, "doc.values", name), k.at(p, "doc.versions", name), k.at(p, "doc.names", name), k.at(p, "doc.ends", name),
	}
}

// crc16 is the checksum with which Redis assigns slots (XMODEM), computed four bits at a
// time.
func crc16(s string) uint16 {
	steps := [16]uint16{
		0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
		0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
	}
	var crc uint16
	for i := range len(s) {
		crc = crc<<4 ^ steps[crc>>12^uint16(s[i]>>4)]
		crc = crc<<4 ^ steps[crc>>12^uint16(s[i]&15)]
	}
	return crc
}
