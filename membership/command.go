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

// CommandKind selects what a replica does for another.
type CommandKind string

// The kinds of commands.
const (
	// CommandFetch makes the receiving replica claim the session.
	CommandFetch CommandKind = "fetch"
	// CommandCloseTab closes a connection, if the replica has it.
	CommandCloseTab CommandKind = "close-tab"
)

// Command is a request to another replica, which executes it and answers. A replica that is
// killed in between may execute it twice.
type Command struct {
	Kind       CommandKind       `json:"kind"`
	Session    wire.SessionID    `json:"session"`
	Connection wire.ConnectionID `json:"connection,omitempty"`
}

// Answer is the result of a command.
type Answer struct {
	// Found reports that the session or connection of the command was there.
	Found bool `json:"found,omitempty"`
	// Detail describes the result.
	Detail string `json:"detail,omitempty"`
	// Code and Reason are the error of a command that failed; Code is 0 on success.
	Code   wire.Code `json:"code,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

const (
	commandPrefix = "fleet-errands."
	// commandTimeout bounds the execution of a command. answerTTL is the time for which its
	// answer is stored, which is also the further time the sender waits for it.
	commandTimeout = 30 * time.Second
	answerTTL      = 30 * time.Second
	// maxCommands bounds the commands that a replica executes at a time; further ones wait.
	maxCommands = 64
	// commandPollEvery is the interval at which the sender polls for the answer.
	commandPollEvery = 50 * time.Millisecond
)

// commandDocument is a command with its answer in the store.
type commandDocument struct {
	Command
	// Process is the process that shall execute it.
	Process string  `json:"process"`
	Answer  *Answer `json:"answer,omitempty"`
}

// Send makes a replica execute a command and waits for its answer. Calls with the same id
// wait for the answer to the same command.
func (f *Membership) Send(ctx context.Context, to wire.ReplicaID, id string, e Command) (Answer, error) {
	process, err := f.processOf(ctx, to)
	if err != nil {
		return Answer{}, err
	}
	p := commandDocument{Command: e, Process: process}
	_, err = f.docs.Put(ctx, store.Document{
		Collection: commandPrefix + string(to), Name: id, Data: encodeCommand(&p), TTL: commandTimeout + answerTTL,
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return Answer{}, fmt.Errorf("send replica command: %w", err)
	}
	if to == f.cfg.ID {
		f.requestCommandCheck()
	}
	look := time.NewTicker(commandPollEvery)
	defer look.Stop()
	for {
		d, err := f.docs.Get(ctx, commandPrefix+string(to), id)
		if err != nil {
			return Answer{}, fmt.Errorf("wait for replica command: %w", err)
		}
		if err := json.Unmarshal(d.Data, &p); err != nil {
			return Answer{}, fmt.Errorf("decode replica command: %w", err)
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

// processOf returns the process that runs as the replica id, or [ErrUnknown].
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

func encodeCommand(p *commandDocument) []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and bools can always be marshaled
	}
	return data
}

// requestCommandCheck makes executeCommands poll at once.
func (f *Membership) requestCommandCheck() {
	select {
	case f.wakeCommands <- struct{}{}:
	default: // already requested
	}
}

// executeCommands polls for commands and executes them until ctx ends, and returns when the
// last one has ended.
func (f *Membership) executeCommands(ctx context.Context) {
	defer f.commands.Wait()
	every := max(f.cfg.Every/4, time.Millisecond)
	for {
		if err := f.startCommands(ctx); err != nil && ctx.Err() == nil {
			f.log.DebugContext(ctx, "cannot read replica commands", "err", err) // the round logs a store failure at a higher level
		}
		select {
		case <-time.After(every):
		case <-f.wakeCommands:
		case <-ctx.Done():
			return
		}
	}
}

// startCommands starts all commands that are not started yet.
func (f *Membership) startCommands(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, f.cfg.TTL/2)
	defer cancel()
	f.mu.Lock()
	clear(f.finished) // documents read from here on contain their answers
	f.mu.Unlock()
	for after := ""; ; {
		page, err := f.docs.Documents(limited, commandPrefix+string(f.cfg.ID), after, 0)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			var p commandDocument
			left := d.TTL - answerTTL
			if json.Unmarshal(d.Data, &p) != nil || p.Process != f.process || p.Answer != nil || left <= 0 || !f.tryStart(d.Name) {
				continue
			}
			f.commands.Go(func() {
				defer f.markFinished(d.Name)
				f.runCommand(ctx, d, p, left)
			})
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// tryStart reports whether a command may start, and marks it as running.
func (f *Membership) tryStart(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[id] || f.finished[id] || len(f.running) >= maxCommands {
		return false
	}
	f.running[id] = true
	return true
}

func (f *Membership) markFinished(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, id)
	f.finished[id] = true
}

// runCommand executes a command and stores its answer. If storing fails, the command is
// executed again; commands are idempotent.
func (f *Membership) runCommand(ctx context.Context, d store.Document, p commandDocument, left time.Duration) {
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	answer := f.cfg.Execute(limited, p.Command)
	if ctx.Err() != nil {
		return
	}
	p.Answer = &answer
	d.Data, d.TTL = encodeCommand(&p), answerTTL
	ctx, cancel = context.WithTimeout(ctx, f.cfg.TTL)
	defer cancel()
	if _, err := f.docs.Put(ctx, d); err != nil && !errors.Is(err, store.ErrConflict) {
		f.log.WarnContext(ctx, "replica command not answered yet", "kind", string(p.Kind), "session", string(p.Session), "err", err)
	}
}
