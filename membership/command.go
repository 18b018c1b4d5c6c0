package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// CommandKind is what a replica is to do for another.
type CommandKind string

// What replicas do for each other.
const (
	// CommandFetch has a session owned by the replica that is asked.
	CommandFetch CommandKind = "fetch"
	// CommandCloseTab has a connection closed, if it is there.
	CommandCloseTab CommandKind = "close-tab"
)

// Command is something that a replica does once for another, beside others, and answers.
// A replica that is killed in between may do it twice.
type Command struct {
	Kind       CommandKind       `json:"kind"`
	Session    wire.SessionID    `json:"session"`
	Connection wire.ConnectionID `json:"connection,omitempty"`
}

// Answer is what became of an command.
type Answer struct {
	// Found says that there was what the command is about.
	Found bool `json:"found,omitempty"`
	// Detail is what there is to say of it.
	Detail string `json:"detail,omitempty"`
	// Code and Reason say why it was not done; Code is 0 when it was.
	Code   wire.Code `json:"code,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

const (
	commandPrefix = "fleet-errands."
	// errandFor is how long a replica has to do an command, and answerFor how long
	// the answer is kept, and looked for after that.
	commandTimeout = 30 * time.Second
	answerFor      = 30 * time.Second
	// errandsAtOnce is how many a replica does at a time; others wait.
	maxCommands = 64
	// errandLook is how often who asked looks for the answer.
	commandLookup = 50 * time.Millisecond
)

// posted is an command in the store.
type posted struct {
	Command
	// Process is the one it is for.
	Process string  `json:"process"`
	Answer  *Answer `json:"answer,omitempty"`
}

// Send has a replica do an command and waits for its answer. The id names the command:
// the same again waits for the same answer.
func (f *Membership) Send(ctx context.Context, to wire.ReplicaID, id string, e Command) (Answer, error) {
	process, err := f.processOf(ctx, to)
	if err != nil {
		return Answer{}, err
	}
	p := posted{Command: e, Process: process}
	_, err = f.store.Put(ctx, store.Document{
		Collection: commandPrefix + string(to), Name: id, Data: encodePosted(&p), TTL: commandTimeout + answerFor,
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return Answer{}, fmt.Errorf("send a replica command: %w", err)
	}
	if to == f.cfg.ID {
		f.runCommands()
	}
	look := time.NewTicker(commandLookup)
	defer look.Stop()
	for {
		d, err := f.store.Get(ctx, commandPrefix+string(to), id)
		if err != nil {
			return Answer{}, fmt.Errorf("wait for a replica command: %w", err)
		}
		if err := json.Unmarshal(d.Data, &p); err != nil {
			return Answer{}, fmt.Errorf("read a replica command: %w", err)
		}
		if p.Answer != nil {
			return *p.Answer, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
}

// processOf is the process that runs as a replica.
func (f *Membership) processOf(ctx context.Context, id wire.ReplicaID) (string, error) {
	all, err := f.list(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if c.ID == id {
			return c.Process, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrUnknown, id)
}

func encodePosted(p *posted) []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and bools always have a JSON form
	}
	return data
}

// runCommands asks for a look at once.
func (f *Membership) runCommands() {
	select {
	case f.wakeCommands <- struct{}{}:
	default: // it is asked for already
	}
}

// executeCommands does what others ask for until ctx ends, and returns when it has done
// with that.
func (f *Membership) executeCommands(ctx context.Context) {
	defer f.commands.Wait()
	every := max(f.cfg.Every/4, time.Millisecond)
	for {
		if err := f.claimCommands(ctx); err != nil && ctx.Err() == nil {
			f.log.DebugContext(ctx, "cannot read replica commands", "err", err) // the round says that the store is away
		}
		select {
		case <-time.After(every):
		case <-f.wakeCommands:
		case <-ctx.Done():
			return
		}
	}
}

// claimCommands begins all that are not begun.
func (f *Membership) claimCommands(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, f.cfg.TTL/2)
	defer cancel()
	f.mu.Lock()
	clear(f.finished) // what is read from here on has their answers
	f.mu.Unlock()
	for after := ""; ; {
		page, err := f.store.Documents(limited, commandPrefix+string(f.cfg.ID), after, 0)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			var p posted
			left := d.TTL - answerFor
			if json.Unmarshal(d.Data, &p) != nil || p.Process != f.process || p.Answer != nil || left <= 0 || !f.begin(d.Name) {
				continue
			}
			f.commands.Go(func() {
				defer f.ended(d.Name)
				f.run(ctx, d, p, left)
			})
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// begin reports whether an command may begin here.
func (f *Membership) begin(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[id] || f.finished[id] || len(f.running) >= maxCommands {
		return false
	}
	f.running[id] = true
	return true
}

func (f *Membership) ended(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, id)
	f.finished[id] = true
}

// run does an command and answers. When the answer does not arrive it is done again,
// which changes nothing.
func (f *Membership) run(ctx context.Context, d store.Document, p posted, left time.Duration) {
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	answer := f.cfg.Execute(limited, p.Command)
	if ctx.Err() != nil {
		return
	}
	p.Answer = &answer
	d.Data, d.TTL = encodePosted(&p), answerFor
	ctx, cancel = context.WithTimeout(ctx, f.cfg.TTL)
	defer cancel()
	if _, err := f.store.Put(ctx, d); err != nil && !errors.Is(err, store.ErrConflict) {
		f.log.WarnContext(ctx, "replica command not answered yet", "kind", string(p.Kind), "session", string(p.Session), "err", err)
	}
}
