package session

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Bounds of the forwarded commands of a session, and when they are sent again. A command that is
// unanswered when it is sent after the longest pause is given up: this replica missed its answer, for
// example when it loaded the session again.
const (
	forwardedCommands = 256
	forwardedBytes    = 4 << 20
	resendFirst       = 5 * time.Second // doubled after every time
	resendLast        = time.Minute     // longest pause
)

// forwarded holds the commands that this replica has put into the inbox of a session and that are
// not answered yet. The store may lose its newest writes in a failover, and with them commands that
// the owner has not seen. Their senders stay connected and keep waiting, so the replica sends them
// again, under the same delivery ids: a command that was not lost has no second effect.
//
// Beyond the bounds it drops the oldest commands. Any goroutine may use it.
type forwarded struct {
	waiting atomic.Int32 // lets removeAnswered skip the lock while there are no commands

	mu       sync.Mutex // guards the following
	commands map[forwardedKey]*forwardedCommand
	bytes    int
	count    uint64
	timerAt  time.Time // when a timer calls the wake function of sent or due; in the past for none
}

// forwardedKey is the sender of a command and its message id.
type forwardedKey struct {
	conn wire.ConnectionID
	id   wire.MessageID
}

// forwardedCommand is a command in the inbox, as far as the store has not lost it.
type forwardedCommand struct {
	key     forwardedKey
	number  uint64 // in the order of sending
	command store.Command
	again   time.Time     // when it is sent again; zero while the first call runs
	wait    time.Duration // between the last time and the next
}

// isAnswered reports whether every message of this kind gets an event that names it.
func isAnswered(m wire.Message) bool {
	switch m.Data.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.EditMessage, wire.Emit, wire.Rewind, wire.Condense, wire.RestoreCheckpoint:
		return m.ID != ""
	}
	return false
}

// add remembers a command that is about to be sent, so that its answer cannot come first.
func (f *forwarded) add(it *item, c store.Command) {
	if it.order != nil || it.poison != nil || !isAnswered(it.cmd.Message) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.commands == nil {
		f.commands = map[forwardedKey]*forwardedCommand{}
	}
	key := keyOf(it)
	if _, ok := f.commands[key]; ok {
		return // a repeated message: the first one is answered, too
	}
	f.count++
	f.commands[key] = &forwardedCommand{key: key, number: f.count, command: c, wait: resendFirst}
	f.bytes += len(c.Data)
	f.waiting.Add(1)
	for len(f.commands) > forwardedCommands || f.bytes > forwardedBytes && len(f.commands) > 1 {
		f.removeOldestLocked()
	}
}

// sent arranges that commands which the store has accepted are sent again after a while: wake is
// called then. Until it is known that the store has accepted them, sending them again in another call
// could change their order.
func (f *forwarded) sent(items []*item, wake func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for _, it := range items {
		if c, ok := f.commands[keyOf(it)]; ok && c.again.IsZero() {
			c.again = now.Add(c.wait)
		}
	}
	f.setTimerLocked(wake)
}

func keyOf(it *item) forwardedKey {
	return forwardedKey{conn: it.cmd.From.Connection, id: it.cmd.Message.ID}
}

// setTimerLocked arranges a call of wake unless there will be one. The caller holds f.mu.
func (f *forwarded) setTimerLocked(wake func()) {
	if now := time.Now(); len(f.commands) > 0 && !now.Before(f.timerAt) {
		f.timerAt = now.Add(resendFirst)
		time.AfterFunc(resendFirst, wake)
	}
}

// remove removes a command that could not be sent, unless an earlier one with the same message id was
// sent.
func (f *forwarded) remove(it *item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.commands[keyOf(it)]; ok && c.command.ID == it.sentAs {
		f.removeLocked(c.key)
	}
}

// removeLocked removes a command. The caller holds f.mu.
func (f *forwarded) removeLocked(key forwardedKey) {
	if c, ok := f.commands[key]; ok {
		delete(f.commands, key)
		f.bytes -= len(c.command.Data)
		f.waiting.Add(-1)
	}
}

// removeOldestLocked removes the command that was sent first. The caller holds f.mu.
func (f *forwarded) removeOldestLocked() {
	var oldest forwardedKey
	first := f.count + 1
	for key, c := range f.commands {
		if c.number < first {
			oldest, first = key, c.number
		}
	}
	f.removeLocked(oldest)
}

// removeAnswered removes the commands that committed events answer.
func (f *forwarded) removeAnswered(events []broadcast.Event) {
	if f.waiting.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if r, ok := answerIn(e); ok {
			f.removeLocked(forwardedKey{conn: r.sender, id: r.message})
		}
	}
}

// due returns the commands that are to be sent again now, in order. While there are commands, wake
// is called once more.
func (f *forwarded) due(now time.Time, wake func()) []forwardedCommand {
	if f.waiting.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setTimerLocked(wake)
	return f.selectLocked(func(c *forwardedCommand) bool { return !c.again.IsZero() && !now.Before(c.again) }, now)
}

// all returns all commands, in order, and postpones their next resend. A new owner here sends them to
// its own inbox before the barrier.
func (f *forwarded) all() []forwardedCommand {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.selectLocked(func(*forwardedCommand) bool { return true }, time.Now())
}

// selectLocked returns some of the commands in the order in which they were sent first, and
// postpones sending them again. The caller holds f.mu.
func (f *forwarded) selectLocked(wanted func(*forwardedCommand) bool, now time.Time) []forwardedCommand {
	var found []forwardedCommand
	for _, c := range f.commands {
		if wanted(c) {
			c.again = now.Add(c.wait)
			found = append(found, *c)
		}
	}
	slices.SortFunc(found, func(a, b forwardedCommand) int { return cmp.Compare(a.number, b.number) })
	return found
}

// sentAgain postpones a command that the store has taken once more, or gives it up.
func (f *forwarded) sentAgain(c forwardedCommand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.commands[c.key]
	if !ok || known.number != c.number {
		return
	}
	if known.wait *= 2; known.wait > 2*resendLast {
		f.removeLocked(c.key)
		return
	}
	known.again = time.Now().Add(min(known.wait, resendLast))
}
