package redisstore

import "github.com/everdesk/everdesk/wire"

// Keys tells tests where things are, for them to break.
type Keys struct {
	Meta, Log, Inbox, Quarantine string
	Base                         string
}

// KeysOf returns the keys of a session.
func KeysOf(prefix string, id wire.SessionID) Keys {
	k := keyspace{prefix: prefix}.session(id)
	return Keys{Meta: k.meta(), Log: k.log(), Inbox: k.inbox(), Quarantine: k.quarantine(), Base: k.base}
}

// Table and List return the keys of structures.
func (k Keys) Table(name string) string { return k.Base + tableName(name) }

// List is the key of a list.
func (k Keys) List(name string) string { return k.Base + listName(name) }

// DocumentsKey is the key of a collection's values.
func DocumentsKey(prefix, collection string) string {
	return keyspace{prefix: prefix}.collection(collection)[0]
}

// SharedKeys are those that sessions of a partition share: of lists by what they
// hold.
func SharedKeys(prefix string, id wire.SessionID, user string) map[string]string {
	space := keyspace{prefix: prefix}
	k := space.session(id)
	return map[string]string{
		"sessions": space.sessions(k.partition), "sessions of a user": space.userSessions(k.partition, user),
		"working": k.working(), "quarantine": k.quarantine(), "floor": k.floor(),
		"mending": k.rebuildMark(), "recent": space.recent(k.partition), "recent of a user": space.userRecent(k.partition, user),
	}
}

// SemaphoreKeys and ReplicaKeys are those of a semaphore and of the replicas.
func SemaphoreKeys(prefix, name string) []string { return keyspace{prefix: prefix}.semaphore(name) }

// ReplicaKeys are the keys of the replicas.
func ReplicaKeys(prefix string) []string { return keyspace{prefix: prefix}.replicas() }

// FormatKey is the key of the format.
func FormatKey(prefix string) string { return keyspace{prefix: prefix}.format() }

// InboxKey is the key and the channel of the inbox of a session.
func (s *Store) InboxKey(id wire.SessionID) string { return s.keys.session(id).inbox() }

// SignalsChannel is the channel of the signals of a session.
func (s *Store) SignalsChannel(id wire.SessionID) string { return s.keys.session(id).signals() }
