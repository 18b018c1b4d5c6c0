package redisstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lockedID is the last id of a log that takes no entries, see log.lua.
	lockedID = "18446744073709551615-18446744073709551615"
	// replicasFor is how long we believe to know whether a server has replicas.
	replicasFor = 30 * time.Second
)

// exec sends writes and fills in their answers, after publishing what was
// committed before.
func (l *lane) exec(flights []*flight, told []*write) {
	// A server that has not seen the script, or has lost it, has done nothing,
	// and the second call brings the script along. A script that stumbled over
	// one batch has not looked at those behind it; the second time it finds what
	// it has done already and goes on.
	if failed := l.send(l.groups(flights), told, false); len(failed) > 0 {
		l.send(failed, nil, true)
	}
}

// groups divides writes into those that one transaction can take: in a Cluster
// all its keys must be in one slot, and nowhere may it have two batches of one
// session, for the script sees the second before the entry of the first is in
// the log.
func (l *lane) groups(flights []*flight) []*transaction {
	var all []*transaction
	open := map[uint16]*transaction{}
	for _, f := range flights {
		slot := uint16(0)
		if l.store.servers.cluster != nil {
			slot = f.partition
		}
		t := open[slot]
		if t == nil || t.has[f.meta()] {
			t = &transaction{has: map[string]bool{}}
			open[slot], all = t, append(all, t)
		}
		t.flights, t.has[f.meta()] = append(t.flights, f), true
	}
	return all
}

// send makes one pipeline of transactions. It returns those whose script Redis
// has refused to run to its end.
func (l *lane) send(transactions []*transaction, told []*write, byText bool) (failed []*transaction) {
	ctx := l.store.life
	var cmds []redis.Cmder
	for _, w := range told {
		cmds = append(cmds, redis.NewCmd(ctx, "spublish", w.meta(), w.entry))
	}
	for i, t := range transactions {
		cmds = append(cmds, t.commands(ctx, l, byText && i == 0)...)
	}
	var wait *redis.IntCmd
	if l.durable && len(transactions) > 0 && l.replicas.of(l.store, l.server) {
		// One WAIT covers everything this connection has written before.
		wait = redis.NewIntCmd(ctx, "wait", 1, l.store.cfg.ReplicaWait.Milliseconds())
		cmds = append(cmds, wait)
	}
	p := l.server.Pipeline()
	_ = p.BatchProcess(ctx, cmds...) // only queues
	_, _ = p.Exec(ctx)               // every command has its own error
	durable := wait != nil && wait.Err() == nil && wait.Val() > 0
	if wait != nil && !durable {
		l.replicas.forget()
	}
	for _, t := range transactions {
		if t.finish(durable) != nil {
			failed = append(failed, t)
		}
	}
	return failed
}

// transaction is a call of commit.lua and the entries it lets into the logs.
type transaction struct {
	flights []*flight
	has     map[string]bool // sessions, by their meta
	cmds    []redis.Cmder   // MULTI, the script, XADD and XSETID..., EXEC
}

func (t *transaction) commands(ctx context.Context, l *lane, byText bool) []redis.Cmder {
	script := t.script(ctx, l, byText)
	t.cmds = []redis.Cmder{redis.NewCmd(ctx, "multi"), script}
	for _, f := range t.flights {
		if f.entry != nil {
			t.cmds = append(t.cmds,
				redis.NewCmd(ctx, "xadd", f.log(), "nomkstream", f.at, "d", f.entry),
				redis.NewCmd(ctx, "xsetid", f.log(), lockedID))
		}
	}
	t.cmds = append(t.cmds, redis.NewCmd(ctx, "exec"))
	return t.cmds
}

// script is the call of commit.lua.
func (t *transaction) script(ctx context.Context, l *lane, byText bool) *redis.Cmd {
	keys, args := 0, 0
	for _, f := range t.flights {
		keys += len(f.keys)
		args += len(f.args)
	}
	limits := l.store.limits
	all := l.store.scripts.commit.begin(byText, keys, args+5)
	for _, f := range t.flights {
		for _, k := range f.keys {
			all = append(all, k)
		}
	}
	all = append(all, len(t.flights), limits.LogEvents, limits.LogBytes, limits.InboxCommands, l.durable)
	for _, f := range t.flights {
		all = append(all, f.args...)
	}
	return redis.NewCmd(ctx, all...)
}

// finish fills in the answers. The error is that of the script, if it was not
// run or not to its end.
func (t *transaction) finish(durable bool) (scriptErr error) {
	results, err := t.results()
	var answers []any
	if err == nil {
		switch v := results[0].(type) {
		case []any:
			answers = v
		case error:
			err, scriptErr = v, v
		}
		if err == nil && len(answers) != len(t.flights) {
			err = errReply
		}
	}
	entry := 1 // the first result behind the script's is that of an XADD
	for i, f := range t.flights {
		f.durable = durable
		if f.err = err; err != nil {
			continue
		}
		f.value = answers[i]
		if f.entry == nil {
			continue
		}
		if _, applied := f.value.(int64); applied && (entry >= len(results) || results[entry] != f.at) {
			f.value = []any{"CORRUPT", f.log()} // it cannot be, but if it is it must be known
		}
		entry += 2
	}
	return scriptErr
}

// results returns what EXEC shows of the commands between it and MULTI.
func (t *transaction) results() ([]any, error) {
	exec, _ := t.cmds[len(t.cmds)-1].(*redis.Cmd)
	results, err := exec.Slice()
	if err == nil && len(results) == 0 {
		return nil, errReply
	}
	if err == nil {
		return results, nil
	}
	// Redis refuses a transaction when it has refused one of its commands, and
	// that refusal is the one that tells.
	for _, cmd := range t.cmds {
		if cmd.Err() != nil {
			return nil, cmd.Err()
		}
	}
	return nil, err
}

// replicas is what is known of a server's replicas.
type replicas struct {
	mu     sync.Mutex // guards the following
	any    bool
	known  bool
	asking bool
	asked  time.Time
}

// of says whether it makes sense to wait for a second node. What was known a while
// ago is good enough until it is asked again, which no write waits for.
func (r *replicas) of(s *Store, server *redis.Client) bool {
	r.mu.Lock()
	known, has, ask := r.known, r.any, !r.asking && time.Since(r.asked) >= replicasFor
	r.asking = r.asking || known && ask
	r.mu.Unlock()
	switch {
	case !known:
		return r.ask(s.life, server)
	case ask:
		s.start(func() { r.ask(s.life, server) })
	}
	return has
}

// ask asks a server whether it has replicas.
func (r *replicas) ask(ctx context.Context, server *redis.Client) bool {
	info, err := server.Info(ctx, "replication").Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = false
	if err != nil {
		r.known = false
		return false
	}
	r.any, r.known, r.asked = !strings.Contains(info, "connected_slaves:0"), true, time.Now()
	return r.any
}

// forget makes the next durable write ask again: the replica that did not answer
// may be gone, and waiting for it would be in vain.
func (r *replicas) forget() {
	r.mu.Lock()
	r.known = false
	r.mu.Unlock()
}
