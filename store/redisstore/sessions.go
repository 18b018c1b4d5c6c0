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
}

func newSessions(c *caller, lists *rebuilder, bus *bus) *Sessions {
	calls, codec := &sessionCaller{caller: c, rebuilder: lists}, newCodec(c.keys, c.schema)
	packs := &packer{caller: c, calls: calls, codec: codec}
	return &Sessions{
		caller: c, rebuilder: lists, bus: bus, calls: calls, codec: codec,
		reader:    &logReader{caller: c, calls: calls, codec: codec, packer: packs},
		tails:     &tailSet{caller: c, tails: map[*tail]struct{}{}},
		directory: &directory{caller: c, calls: calls, rebuilder: lists},
		committer: newCommitter(c, codec),
		sends:     newCallQueue(c),
		packer:    packs,
	}
}
