package redisstore

// Sessions implements the part of the store contract about sessions: leases, batches, reads,
// inboxes and the directory.
type Sessions struct {
	*caller
	rebuilder *rebuilder
	bus       *bus
	calls     *sessionCaller
	codec     *codec
	reader    *logReader
	tails     *tailSet
	directory *directory
	committer *committer
	sends     *callQueue
	packer    *packer
	cold      *Cold
}

func newSessions(c *caller, lists *rebuilder, bus *bus) *Sessions {
	calls, codec := &sessionCaller{caller: c, rebuilder: lists}, newCodec(c.keys, c.schema)
	place := &storage{caller: c, objects: c.cfg.Objects}
	packs := &packer{caller: c, calls: calls, codec: codec, objects: c.cfg.Objects, storage: place}
	entries := &directory{caller: c, calls: calls, rebuilder: lists}
	return &Sessions{
		caller: c, rebuilder: lists, bus: bus, calls: calls, codec: codec,
		reader:    &logReader{caller: c, calls: calls, codec: codec, packer: packs},
		tails:     &tailSet{caller: c, tails: map[*tail]struct{}{}},
		directory: entries,
		committer: newCommitter(c, codec),
		sends:     newCallQueue(c),
		packer:    packs,
		cold:      &Cold{caller: c, calls: calls, packer: packs, directory: entries, objects: c.cfg.Objects, storage: place},
	}
}
