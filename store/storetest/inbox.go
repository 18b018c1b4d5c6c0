package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func inboxChecks() []check {
	small := Options{Limits: store.Limits{InboxCommands: 4, CommandBytes: 100}}
	return []check{
		{name: "commands are received in order", run: inboxOrder},
		{name: "commands wait for the first owner", run: inboxBeforeClaim},
		{name: "a waiting receiver wakes up", run: inboxWakes},
		{name: "sending again is a duplicate", run: inboxDuplicate},
		{name: "other data under the same id is a conflict", run: inboxConflict},
		{name: "a consumed command sent again is a duplicate", run: inboxDuplicateAfterConsumption, opts: small},
		{name: "duplicates of a former owner's commands", run: inboxDuplicateAfterTakeOver},
		{name: "a full inbox refuses and makes room again", run: inboxFull, opts: small},
		{name: "a command over the limit is refused", run: inboxTooLarge, opts: small},
		{name: "commands that were not consumed are received again", run: inboxRedelivery},
		{name: "consumed commands are not received again", run: inboxConsumed},
		{name: "a waiting receiver learns that it was fenced", run: inboxFencedTaken},
		{name: "a waiting receiver learns that it released", run: inboxFencedReleased},
		{name: "a waiting receiver learns of a deletion", run: inboxFencedDeleted},
		{name: "a waiting receiver learns of a quarantine", run: inboxQuarantined},
		{name: "an expired lease that was not claimed receives", run: inboxExpired},
		{name: "a cancelled receiver ends", run: inboxCancelled},
		{name: "many senders", run: inboxManySenders},
		{name: "any bytes are kept", run: inboxBytes},
		{name: "sending to an unknown session is ErrNotFound", run: inboxUnknown},
		{name: "sessions have inboxes of their own", run: inboxSeparate},
		{name: "several commands are sent at once", run: inboxGroup, opts: small},
		{name: "a refused command ends a group", run: inboxGroupRefused, opts: small},
	}
}

// sendOn sends a command and returns whether it was a duplicate. It is safe to call from
// any goroutine.
func (r *rig) sendOn(id wire.SessionID, command, data string) bool {
	r.Helper()
	dup, err := r.Inbox.Send(r.ctx, id, store.Command{ID: command, Data: []byte(data)})
	if err != nil {
		r.Errorf("sending %s: %v", command, err)
	}
	return slices.Equal(dup, []bool{true})
}

// send sends a command that must be new.
func (r *rig) send(id wire.SessionID, command, data string) {
	r.Helper()
	if r.sendOn(id, command, data) {
		r.Fatalf("command %s is a duplicate, want a new one", command)
	}
}

// inbox receives until it has n commands.
func (r *rig) inbox(l store.Lease, n int) []store.Command {
	r.Helper()
	var all []store.Command
	for commands, err := range r.Inbox.Receive(r.ctx, l) {
		r.ok(err)
		if all = append(all, commands...); len(all) >= n {
			break
		}
	}
	return all
}

// receiver receives in the background.
type receiver struct {
	*rig
	got    chan []store.Command
	failed chan error
	cancel context.CancelFunc
}

func (r *rig) receiver(l store.Lease) *receiver {
	ctx, cancel := context.WithCancel(r.ctx)
	v := &receiver{rig: r, got: make(chan []store.Command), failed: make(chan error, 1), cancel: cancel}
	var wg sync.WaitGroup
	wg.Go(func() {
		last := errEnded
		defer func() { v.failed <- last }()
		for commands, err := range r.Inbox.Receive(ctx, l) {
			if err != nil {
				last = err
				continue // wait until it ends by itself
			}
			select {
			case v.got <- commands:
			case <-ctx.Done():
			}
		}
	})
	r.Cleanup(func() { cancel(); wg.Wait() })
	return v
}

// next waits for n commands.
func (v *receiver) next(n int) []store.Command {
	v.Helper()
	var all []store.Command
	for len(all) < n {
		select {
		case commands := <-v.got:
			all = append(all, commands...)
		case err := <-v.failed:
			v.Fatalf("receiver ended after %d of %d commands: %v", len(all), n, err)
		case <-v.ctx.Done():
			v.Fatalf("receiver got %d of %d commands before the deadline", len(all), n)
		}
	}
	return all
}

// ends waits for the receiver's error and accepts no further command.
func (v *receiver) ends(want error) {
	v.Helper()
	select {
	case commands := <-v.got:
		v.Fatalf("receiver got %v, want it to end with %v", commands, want)
	case err := <-v.failed:
		v.is(err, want, "Receive")
	case <-v.ctx.Done():
		v.Fatalf("receiver goes on, want it to end with %v", want)
	}
}

func commands(ids ...string) []store.Command {
	out := make([]store.Command, len(ids))
	for i, id := range ids {
		out[i] = store.Command{ID: id, Data: []byte("data of " + id)}
	}
	return out
}

func (r *rig) sendAll(id wire.SessionID, cs []store.Command) {
	r.Helper()
	for _, c := range cs {
		r.send(id, c.ID, string(c.Data))
	}
}

func inboxOrder(r *rig) {
	p := r.createAndClaim("s", "a")
	other := r.secondHandle()
	var want []store.Command
	for i := range 50 {
		// Ids whose order differs from the order of sending.
		c := commands(fmt.Sprintf("c%d", (i*37)%50))[0]
		want = append(want, c)
		if i%2 == 0 {
			r.sendAll("s", []store.Command{c})
		} else {
			other.sendAll("s", []store.Command{c})
		}
	}
	r.same("received", r.inbox(p.lease, 50), want)
}

func inboxBeforeClaim(r *rig) {
	r.create("s")
	r.sendAll("s", commands("a", "b"))
	l := r.claim("s", "a")
	r.same("received", r.inbox(l, 2), commands("a", "b"))
}

func inboxWakes(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	other := r.secondHandle()
	for _, id := range []string{"a", "b", "c"} {
		other.sendAll("s", commands(id))
		r.same("received", v.next(1), commands(id))
	}
	p.commit(store.Batch{Consumed: []string{"a", "b", "c"}})
	other.sendAll("s", commands("d", "e"))
	r.same("received", v.next(2), commands("d", "e"))
}

func inboxDuplicate(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a", "b"))
	if !r.secondHandle().sendOn("s", "a", "data of a") {
		r.Error("the same command again is new, want a duplicate")
	}
	r.send("s", "c", "data of c")
	r.same("received", r.inbox(p.lease, 3), commands("a", "b", "c"))
}

// inboxGroup sends groups with duplicates of commands in the inbox, of consumed ones and of
// the group's own.
func inboxGroup(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	send := func(want []bool, ids ...string) {
		r.Helper()
		got, err := r.Inbox.Send(r.ctx, "s", commands(ids...)...)
		r.ok(err)
		r.same("duplicates", got, want)
	}
	send([]bool{false, false, true}, "b", "a", "b")
	r.same("received", v.next(2), commands("b", "a"))
	p.commit(store.Batch{Consumed: []string{"b"}})
	send([]bool{true, false, true, false}, "a", "d", "b", "c")
	r.same("received", v.next(2), commands("d", "c"))
	r.same("received anew", r.inbox(p.lease, 3), commands("a", "d", "c"))
	got, err := r.Inbox.Send(r.ctx, "s")
	r.ok(err)
	r.same("duplicates of nothing", len(got), 0)
}

// inboxGroupRefused sends groups with one command that is refused: those before it are
// added, those after it are not.
func inboxGroupRefused(r *rig) {
	p := r.createAndClaim("s", "a")
	send := func(why error, want []bool, cs ...store.Command) {
		r.Helper()
		got, err := r.Inbox.Send(r.ctx, "s", cs...)
		r.is(err, why, "Send")
		r.same("duplicates", got, want)
	}
	c := commands("a", "b", "c", "d", "e")
	other := store.Command{ID: "a", Data: []byte("other")}
	send(store.ErrConflict, []bool{false}, c[0], other, c[1])
	send(store.ErrTooLarge, []bool{true, false}, c[0], c[1], store.Command{ID: "big", Data: make([]byte, 101)}, c[2])
	send(store.ErrInvalid, nil, store.Command{}, c[2])
	send(store.ErrConflict, nil, other, c[2])
	send(store.ErrFull, []bool{false, false, true}, c[2], c[3], c[0], c[4], c[0])
	r.same("received", r.inbox(p.lease, 4), commands("a", "b", "c", "d"))
	_, err := r.Inbox.Send(r.ctx, "unknown", c...)
	r.is(err, store.ErrNotFound, "Send to an unknown session")
}

func inboxConflict(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a"))
	_, err := r.Inbox.Send(r.ctx, "s", store.Command{ID: "a", Data: []byte("other")})
	r.is(err, store.ErrConflict, "Send of other data")
	r.sendAll("s", commands("b"))
	r.same("received", r.inbox(p.lease, 2), commands("a", "b"))
}

func inboxDuplicateAfterConsumption(r *rig) {
	p := r.createAndClaim("s", "a")
	all := commands("a", "b", "c", "d")
	r.sendAll("s", all)
	p.commit(store.Batch{Consumed: []string{"a", "b"}})
	p.commit(store.Batch{Consumed: []string{"c", "d"}})
	for _, c := range all { // exactly as many as the inbox may hold
		if !r.sendOn("s", c.ID, string(c.Data)) {
			r.Errorf("command %s after its consumption is new, want a duplicate", c.ID)
		}
		if !r.sendOn("s", c.ID, "other") {
			r.Errorf("command %s after its consumption is new with other data, want a duplicate", c.ID)
		}
	}
	r.sendAll("s", commands("e", "f"))
	p.commit(store.Batch{Consumed: []string{"e", "f"}})
	for _, c := range commands("c", "d", "e", "f") { // the last four
		if !r.sendOn("s", c.ID, string(c.Data)) {
			r.Errorf("command %s after its consumption is new, want a duplicate", c.ID)
		}
	}
	r.sendAll("s", commands("g"))
	r.same("received", r.inbox(p.lease, 1), commands("g"))
}

func inboxDuplicateAfterTakeOver(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a"))
	p.commit(store.Batch{Consumed: []string{"a"}})
	r.ok(r.Leases.Release(r.ctx, p.lease))
	other := r.secondHandle()
	l := other.claim("s", "b")
	if !other.sendOn("s", "a", "data of a") {
		r.Error("a command the last owner consumed is new, want a duplicate")
	}
	r.sendAll("s", commands("b"))
	r.same("received", other.inbox(l, 1), commands("b"))
}

func inboxFull(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a", "b", "c", "d"))
	_, err := r.secondHandle().Inbox.Send(r.ctx, "s", commands("e")[0])
	r.is(err, store.ErrFull, "Send to a full inbox")
	if !r.sendOn("s", "b", "data of b") {
		r.Error("a repeated command is new in a full inbox, want a duplicate")
	}
	_, err = r.Inbox.Send(r.ctx, "s", store.Command{ID: "b"})
	r.is(err, store.ErrConflict, "Send of other data to a full inbox")
	p.commit(store.Batch{Consumed: []string{"b"}})
	r.sendAll("s", commands("e"))
	_, err = r.Inbox.Send(r.ctx, "s", commands("f")[0])
	r.is(err, store.ErrFull, "Send to an inbox that is full again")
	r.same("received", r.inbox(p.lease, 4), commands("a", "c", "d", "e"))
}

func inboxTooLarge(r *rig) {
	p := r.createAndClaim("s", "a")
	big := store.Command{ID: "a", Data: bytes.Repeat([]byte("x"), 101)}
	_, err := r.Inbox.Send(r.ctx, "s", big)
	r.is(err, store.ErrTooLarge, "Send of 101 bytes of 100")
	big.Data = big.Data[:100]
	_, err = r.Inbox.Send(r.ctx, "s", big)
	r.ok(err)
	for _, id := range []string{"", "a\nb", string(bytes.Repeat([]byte("x"), 257))} {
		_, err = r.Inbox.Send(r.ctx, "s", store.Command{ID: id})
		r.is(err, store.ErrInvalid, "Send with a bad id")
	}
	r.same("received", r.inbox(p.lease, 1), []store.Command{big})
}

func inboxRedelivery(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a", "b", "c"))
	for range 2 { // a second Receive of the same owner starts from the beginning
		r.same("received", r.inbox(p.lease, 3), commands("a", "b", "c"))
	}
	p.commit(store.Batch{Consumed: []string{"b"}})
	r.ok(r.Leases.Release(r.ctx, p.lease))
	other := r.secondHandle()
	l := other.claim("s", "b")
	r.same("received by the next owner", other.inbox(l, 2), commands("a", "c"))
}

func inboxConsumed(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a", "b"))
	v := r.receiver(p.lease)
	r.same("received", v.next(2), commands("a", "b"))
	p.commit(store.Batch{Consumed: []string{"a", "b"}})
	r.sendAll("s", commands("c"))
	r.same("received", v.next(1), commands("c"))
	r.same("received anew", r.inbox(p.lease, 1), commands("c"))
}

func inboxFencedTaken(r *rig) {
	r.create("s")
	l := r.claimFor("s", "a", r.short())
	v := r.receiver(l)
	r.sendAll("s", commands("a"))
	v.next(1)
	r.expire()
	r.secondHandle().claim("s", "b")
	v.ends(store.ErrFenced)
}

func inboxQuarantined(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	r.sendAll("s", commands("a"))
	v.next(1)
	r.ok(r.secondHandle().Directory.Quarantine(r.ctx, "s", "because"))
	v.ends(store.ErrQuarantined)
	r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
	if got := r.inbox(p.lease, 1); len(got) != 1 || got[0].ID != "a" {
		r.Errorf("after the quarantine the inbox has %v, want the command a", got)
	}
}

func inboxFencedReleased(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	r.sendAll("s", commands("a"))
	v.next(1)
	r.ok(r.Leases.Release(r.ctx, p.lease))
	v.ends(store.ErrFenced)
}

func inboxFencedDeleted(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	r.sendAll("s", commands("a"))
	v.next(1)
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	v.ends(store.ErrFenced)
}

func inboxExpired(r *rig) {
	r.create("s")
	l := r.claimFor("s", "a", r.short())
	v := r.receiver(l)
	r.expire()
	r.sendAll("s", commands("a"))
	r.same("received", v.next(1), commands("a"))
}

func inboxCancelled(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	r.sendAll("s", commands("a"))
	v.next(1)
	v.cancel()
	v.ends(context.Canceled)
	r.same("received by another", r.inbox(p.lease, 1), commands("a"))
}

func inboxManySenders(r *rig) {
	const senders, each = 8, 20
	p := r.createAndClaim("s", "a")
	v := r.receiver(p.lease)
	var wg sync.WaitGroup
	for s := range senders {
		h := r.secondHandle()
		wg.Go(func() {
			for i := range each {
				id, data := fmt.Sprintf("%d-%d", s, i), strconv.Itoa(i)
				h.sendOn("s", id, data)
				if i%4 == 0 && !h.sendOn("s", id, data) {
					r.Errorf("command %s again is new, want a duplicate", id)
				}
			}
		})
	}
	next := map[string]int{}
	for _, c := range v.next(senders * each) {
		sender := c.ID[:1]
		if string(c.Data) != strconv.Itoa(next[sender]) {
			r.Errorf("sender %s: got command %s, want number %d", sender, c.Data, next[sender])
		}
		next[sender]++
	}
	wg.Wait()
}

func inboxBytes(r *rig) {
	p := r.createAndClaim("s", "a")
	var want []store.Command
	for i, id := range trickyNames() {
		data := []byte{byte(i), 0, '\n', 0xff}
		if i == 0 {
			data = nil
		}
		want = append(want, store.Command{ID: id, Data: data})
	}
	r.sendAll("s", want)
	r.same("received", r.inbox(p.lease, len(want)), want)
	p.commit(store.Batch{Consumed: trickyNames()[1:]})
	r.same("received", r.inbox(p.lease, 1), want[:1])
}

func inboxUnknown(r *rig) {
	_, err := r.Inbox.Send(r.ctx, "s", commands("a")[0])
	r.is(err, store.ErrNotFound, "Send")
}

func inboxSeparate(r *rig) {
	p, q := r.createAndClaim("s", "a"), r.createAndClaim("t", "a")
	r.sendAll("s", commands("a"))
	r.send("t", "a", "something else")
	p.commit(store.Batch{Consumed: []string{"a"}})
	r.same("received", r.inbox(q.lease, 1), []store.Command{{ID: "a", Data: []byte("something else")}})
}
