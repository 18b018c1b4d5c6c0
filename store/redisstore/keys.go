package redisstore

import (
	"strconv"

	"github.com/everdesk/everdesk/wire"
)

// partitions is how many hash tags there are. All keys of a session share one,
// so that a script may touch them all in a Cluster, and there are few, so that
// one pub/sub connection per tag is affordable. It is part of the stored format.
const partitions = 64

// keyspace builds keys. There is no other place that does.
type keyspace struct{ prefix string }

// partition is the one a session, semaphore or collection belongs to.
func partition(name string) uint16 { return crc16(name) % partitions }

// at returns `<prefix>:{p<partition>}:<part>:<part>...`. Parts that may hold
// colons come last, so that no two things share a key.
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

// Partition names the sessions that are lost and found together: the server that
// does not answer for one of them answers for none.
func (s *Store) Partition(session wire.SessionID) int {
	if s.servers.cluster == nil {
		return 0
	}
	return int(partition(string(session)))
}

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

// meta is a hash: user, card, times, lease and the state of the log. It is also
// the name of the channel on which the session's news is published.
func (k sessionKeys) meta() string { return k.base + "meta" }

// log is a stream with one entry per batch.
func (k sessionKeys) log() string { return k.base + "log" }

// inbox is a stream with one entry per command.
func (k sessionKeys) inbox() string { return k.base + "inbox" }

// ids is a hash: command id to its entry in the inbox and a digest, or to "-"
// once consumed.
func (k sessionKeys) ids() string { return k.base + "ids" }

// done is a list of consumed command ids, oldest first.
func (k sessionKeys) done() string { return k.base + "done" }

// names is a set of the structures that exist: "t:<table>" and "l:<list>".
func (k sessionKeys) names() string { return k.base + "names" }

// structure is the hash of a table or the list of a list.
func (k sessionKeys) structure(name string) string { return k.base + name }

func tableName(table string) string { return "t:" + table }
func listName(list string) string   { return "l:" + list }

// quarantine is a hash: session to reason. It is kept apart from the sessions,
// so that one whose own keys are of a wrong type can be marked.
func (k sessionKeys) quarantine() string { return k.space.at(k.partition, "quarantine") }

// floor is the highest epoch of a deleted session.
func (k sessionKeys) floor() string { return k.space.at(k.partition, "floor") }

// rebuildMark is a string: who makes the lists of the partition anew puts it there with
// the first it puts away, and takes it when all are whole.
func (k sessionKeys) rebuildMark() string { return k.space.rebuildMark(k.partition) }

func (k keyspace) rebuildMark(partition uint16) string { return k.at(partition, "mending") }

// working is a sorted set: working sessions by the end of their lease.
func (k sessionKeys) working() string { return k.space.working(k.partition) }

func (k keyspace) working(partition uint16) string { return k.at(partition, "working") }

// sessions is a sorted set of all sessions of a partition, in order of id.
func (k keyspace) sessions(partition uint16) string { return k.at(partition, "sessions") }

// userSessions is the part of sessions that belongs to a user.
func (k keyspace) userSessions(partition uint16, user string) string {
	return k.at(partition, "user", user)
}

// replicas are two keys: replicas by the end of their life, and their cards.
func (k keyspace) replicas() []string {
	p := partition("replicas")
	return []string{k.at(p, "replicas"), k.at(p, "replicas.cards")}
}

// format is a string: the version of all this.
func (k keyspace) format() string { return k.at(partition("format"), "format") }

// The kinds of keys that replicas and semaphores are.
func replicaKinds() []string   { return []string{"zset", "hash"} }
func semaphoreKinds() []string { return []string{"zset", "zset", "zset", "hash"} }

// semaphore are the four keys of slots.lua. The first is also the channel on
// which granted slots are published.
func (k keyspace) semaphore(name string) []string {
	p := partition(name)
	return []string{
		k.at(p, "sem.holders", name), k.at(p, "sem.tickets", name), k.at(p, "sem.waiters", name), k.at(p, "sem.facts", name),
	}
}

// rate is the hash of take.lua.
func (k keyspace) rate(key string) string { return k.at(partition(key), "rate", key) }

// collection are the four keys of docs.lua.
func (k keyspace) collection(name string) []string {
	p := partition(name)
	return []string{
		k.at(p, "doc.values", name), k.at(p, "doc.versions", name), k.at(p, "doc.names", name), k.at(p, "doc.ends", name),
	}
}

// crc16 is the checksum Redis assigns slots with (XMODEM), four bits at a time.
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
