package session

import (
	"context"
	"time"
)

// deliver brings an item to the owner, here or elsewhere, in the order of its connection. It blocks
// while the mailbox is full. A follower and a session without an owner keep the item until the store
// has it.
func (ls *liveSession) deliver(ctx context.Context, it item) error {
	if it.order == nil && ls.storeFull.Load() {
		return errFull
	}
	return ls.mailbox.put(ctx, it)
}

// deliverAll delivers commands in order and returns the number delivered.
func (ls *liveSession) deliverAll(ctx context.Context, commands []Command) (int, error) {
	n := ls.tryDeliver(commands)
	for ; n < len(commands); n++ {
		if err := ls.deliver(ctx, item{cmd: commands[n]}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// tryDeliver delivers commands as long as that does not block, and returns the number delivered.
func (ls *liveSession) tryDeliver(commands []Command) int {
	if ls.storeFull.Load() {
		return 0
	}
	return ls.mailbox.tryPutCommands(commands)
}

// earliest returns the earliest of several times; zero times mean never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		first = earlier(first, t)
	}
	return first
}
