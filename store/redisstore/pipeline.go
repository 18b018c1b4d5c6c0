package redisstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// lockedID is the last id of a locked log, which accepts no entries; see log.lua.
	lockedID = "18446744073709551615-18446744073709551615"
	// replicaCheckEvery is the interval at which a server is asked whether it has replicas.
	replicaCheckEvery = 30 * time.Second
)

// pipeline is one round trip to a server. Its memory is reused.
type pipeline struct {
	writes    []*write
	toPublish []*write // writes committed by earlier pipelines whose entries are to be published
	newest    map[wire.SessionID]*transaction
	cmds      []redis.Cmder
	args      []any
}

// reset releases the content after it was sent.
func (p *pipeline) reset() {
	clear(p.writes)
	clear(p.newest)
	clear(p.cmds)
	clear(p.args)
	p.writes, p.toPublish, p.cmds, p.args = p.writes[:0], nil, p.cmds[:0], p.args[:0]
}

// exec sends the writes of a pipeline and sets their results, after publishing entries that
// were committed before.
func (l *serverQueue) exec(p *pipeline) {
	// A server without the script has executed nothing, and the second attempt sends the
	// script's source. A script that failed at one batch has not processed the batches
	// after it; the second time it skips the batches already applied.
	if failed := l.send(p, p.toPublish, l.transactions(p), false); len(failed) > 0 {
		l.send(p, nil, failed, true)
	}
}

// transactions groups writes into transactions. In a Cluster all keys of one must be in one
// slot. A transaction never has two batches of one session, because the script would see
// the second one before the entry of the first is in the log.
func (l *serverQueue) transactions(p *pipeline) []*transaction {
	var all []*transaction
	open := map[uint16]*transaction{}
	for i, w := range p.writes {
		slot := uint16(0)
		if l.servers.cluster != nil {
			slot = w.partition
		}
		t := open[slot]
		if t == nil || p.newest[w.session] == t {
			t = &transaction{}
			if l.servers.cluster == nil {
				t.writes = make([]*write, 0, len(p.writes)-i)
			}
			open[slot], all = t, append(all, t)
		}
		t.writes, p.newest[w.session] = append(t.writes, w), t
	}
	return all
}

// send publishes entries and sends transactions. It returns the transactions whose script failed.
func (l *serverQueue) send(p *pipeline, toPublish []*write, transactions []*transaction, byText bool) (failed []*transaction) {
	ctx := l.runCtx
	p.cmds, p.args = p.cmds[:0], p.args[:0]
	for _, w := range toPublish {
		p.cmds = append(p.cmds, redis.NewCmd(ctx, "spublish", &w.keys[0], &w.entry))
	}
	for i, t := range transactions {
		l.appendTransaction(p, t, byText && i == 0)
	}
	var wait *redis.IntCmd
	if l.durable && len(transactions) > 0 && l.replicas.has(l.caller, l.server) {
		// One WAIT covers everything this connection has written before.
		wait = redis.NewIntCmd(ctx, "wait", 1, l.cfg.ReplicaWait.Milliseconds())
		p.cmds = append(p.cmds, wait)
	}
	pipe := l.server.Pipeline()
	_ = pipe.BatchProcess(ctx, p.cmds...) // only queues, cannot fail
	_, _ = pipe.Exec(ctx)                 // every command has its own error
	l.republish(toPublish, p.cmds)
	replicated := wait != nil && wait.Err() == nil && wait.Val() > 0
	if wait != nil && !replicated {
		l.replicas.invalidate()
	}
	for _, t := range transactions {
		if t.finish(replicated) != nil {
			failed = append(failed, t)
		}
	}
	return failed
}

// republish publishes the entries again whose publication may have failed, until it succeeds:
// followers do not read the log while their connections work. cmds begins with the publications.
func (l *serverQueue) republish(published []*write, cmds []redis.Cmder) {
	var failed []*write
	for i, w := range published {
		if err := cmds[i].Err(); err != nil && classifyError(err) != outcomeRefused {
			w.republishing = true
			failed = append(failed, w)
		}
	}
	if len(failed) == 0 {
		return
	}
	l.start(func() {
		for _, w := range failed {
			err := store.ErrUnavailable
			for errors.Is(err, store.ErrUnavailable) {
				err = l.runOnServer(l.runCtx, "publish", retryable, string(w.keys[0]), func(ctx context.Context, server *redis.Client) error {
					return server.Do(ctx, "spublish", &w.keys[0], &w.entry).Err()
				})
			}
		}
	})
}

// transaction is a call of commit.lua and the entries that it permits in the logs.
type transaction struct {
	writes []*write
	cmds   []redis.Cmder // MULTI, the script, XADD and XSETID..., EXEC
}

// appendTransaction adds the commands of a transaction to a pipeline.
func (l *serverQueue) appendTransaction(p *pipeline, t *transaction, byText bool) {
	ctx, from := l.runCtx, len(p.cmds)
	p.cmds = append(p.cmds, redis.NewStatusCmd(ctx, "multi"), l.commitCall(p, t, byText))
	for _, w := range t.writes {
		if len(w.entry) > 0 {
			p.cmds = append(p.cmds, w.add, w.lock)
		}
	}
	p.cmds = append(p.cmds, redis.NewCmd(ctx, "exec"))
	t.cmds = p.cmds[from:len(p.cmds):len(p.cmds)]
}

// commitCall returns the command that calls commit.lua.
func (l *serverQueue) commitCall(p *pipeline, t *transaction, byText bool) redis.Cmder {
	keys, from := 0, len(p.args)
	for _, w := range t.writes {
		keys += len(w.keys)
	}
	p.args = l.scripts.commit.appendCallHead(p.args, byText, keys)
	for _, w := range t.writes {
		for i := range w.keys {
			p.args = append(p.args, &w.keys[i])
		}
	}
	limits := l.limits
	p.args = append(p.args, len(t.writes), limits.LogEvents, limits.LogBytes, limits.InboxCommands, l.durable)
	for _, w := range t.writes {
		for i := range w.args {
			p.args = append(p.args, &w.args[i])
		}
	}
	return redis.NewCmd(l.runCtx, p.args[from:len(p.args):len(p.args)]...)
}

// finish sets the results of the writes. It returns the script's error if the script
// failed.
func (t *transaction) finish(replicated bool) (scriptErr error) {
	results, err := t.results()
	var answers []any
	if err == nil {
		switch v := results[0].(type) {
		case []any:
			answers = v
		case error:
			err, scriptErr = v, v
		}
		if err == nil && len(answers) != len(t.writes) {
			err = errReply
		}
	}
	entry := 1 // the first result behind the script's is that of an XADD
	for i, w := range t.writes {
		w.replicated, w.value = replicated, nil
		if w.err = err; err != nil {
			continue
		}
		w.value = answers[i]
		if len(w.entry) == 0 {
			continue
		}
		if _, applied := w.value.(int64); applied && !isText(results, entry, w.at) {
			w.value = []any{"CORRUPT", string(w.log)} // must not happen; if it does, the session is quarantined
		}
		entry += 2
	}
	return scriptErr
}

// isText reports whether results[i] exists and equals want.
func isText(results []any, i int, want arg) bool {
	if i >= len(results) {
		return false
	}
	text, ok := results[i].(string)
	return ok && text == string(want)
}

// results returns the replies to the commands between MULTI and EXEC.
func (t *transaction) results() ([]any, error) {
	exec, _ := t.cmds[len(t.cmds)-1].(*redis.Cmd)
	results, err := exec.Slice()
	if err == nil && len(results) == 0 {
		return nil, errReply
	}
	if err == nil {
		return results, nil
	}
	// Redis aborts a transaction if it refused one of its commands; the error of that
	// command is the cause.
	for _, cmd := range t.cmds {
		if cmd.Err() != nil {
			return nil, cmd.Err()
		}
	}
	return nil, err
}

// replicaCache caches whether a server has replicas.
type replicaCache struct {
	mu        sync.Mutex // guards the fields below
	any       bool
	known     bool
	querying  bool
	queriedAt time.Time
}

// has reports whether waiting for a second node makes sense. It uses the cached answer and
// refreshes it in the background, so that writes wait only for the first query.
func (r *replicaCache) has(c *caller, server *redis.Client) bool {
	r.mu.Lock()
	known, has, ask := r.known, r.any, !r.querying && time.Since(r.queriedAt) >= replicaCheckEvery
	r.querying = r.querying || known && ask
	r.mu.Unlock()
	switch {
	case !known:
		return r.query(c.runCtx, server)
	case ask:
		c.start(func() { r.query(c.runCtx, server) })
	}
	return has
}

// query asks a server whether it has replicas.
func (r *replicaCache) query(ctx context.Context, server *redis.Client) bool {
	info, err := server.Info(ctx, "replication").Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.querying = false
	if err != nil {
		r.known = false
		return false
	}
	r.any, r.known, r.queriedAt = !strings.Contains(info, "connected_slaves:0"), true, time.Now()
	return r.any
}

// invalidate makes the next durable write query again: the replica that did not acknowledge
// may be gone, and waiting for it would be useless.
func (r *replicaCache) invalidate() {
	r.mu.Lock()
	r.known = false
	r.mu.Unlock()
}
