package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/wire"
)

// drainEvery is the polling interval for the progress of a drain.
const drainEvery = 200 * time.Millisecond

// draining holds the arguments of `hub drain`, and of `hub admin drain` and undrain.
type draining struct {
	hub     *remote.Hub
	replica wire.ReplicaID // empty: the only one
	reason  string
	undo    bool
	wait    time.Duration
}

// DrainCommand returns `hub drain`, which makes a replica hand over its sessions.
func DrainCommand() command.Command {
	return command.Command{
		Name: "drain", Args: "[flags] [REPLICA]",
		Help: "make a hub hand over its sessions and refuse new connections; the process stays up",
		Flags: `--server URL      any hub of the same store, at its --admin-addr if it has one
			--token TOKEN     your token, also as HUB_TOKEN
			--reason TEXT     the reason, recorded in the audit log
			--undo            accept connections and sessions again
			--wait DURATION   wait until all sessions are handed over`,
		Run: drain,
	}
}

// drain makes a replica hand over its sessions or, with --undo, serve again.
func drain(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	d := parseDrain(p, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	if d.replica == "" {
		only, err := d.only(ctx, p.Stderr)
		if err != nil {
			return err
		}
		d.replica = only
	}
	if err := d.order(ctx); err != nil {
		return err
	}
	if d.wait == 0 {
		fmt.Fprintf(p.Stdout, "%s got the order; hub replicas shows its progress.\n", d.replica)
		return nil
	}
	return d.await(ctx, p.Stdout)
}

func parseDrain(p command.Call, wrong *command.UsageErrors) draining {
	hub, flags, rest := remote.ParseAdmin(p, map[string]command.Arity{"reason": command.Value, "undo": command.NoValue, "wait": command.Value}, wrong)
	d := draining{hub: hub, reason: flags.Last("reason"), undo: flags.Has("undo")}
	if len(rest) > 0 {
		d.replica = wire.ReplicaID(rest[0])
		if err := d.replica.Validate(); err != nil {
			wrong.Add("replica %q: %v", rest[0], err)
		}
		wrong.Refuse(rest[1:])
	}
	if strings.TrimSpace(d.reason) == "" {
		d.reason = "hub drain"
	}
	if text := flags.Last("wait"); text != "" {
		var err error
		if d.wait, err = command.ParseDuration(text); err != nil {
			wrong.Add("flag --wait: %v; got %q", err, text)
		}
	}
	return d
}

// all lists the replicas.
func (d *draining) all(ctx context.Context) ([]replicaCard, error) {
	var raw json.RawMessage
	if err := d.hub.Ask(ctx, http.MethodGet, d.hub.URL.JoinPath("api", "admin", "replicas"), nil, &raw); err != nil {
		return nil, fmt.Errorf("list replicas: %w", forAdmins(err))
	}
	return readReplicas(raw)
}

// only returns the only replica. Several are an error, because behind a load balancer any of
// them could answer; it then prints the list.
func (d *draining) only(ctx context.Context, stderr io.Writer) (wire.ReplicaID, error) {
	all, err := d.all(ctx)
	if err != nil {
		return "", err
	}
	if len(all) != 1 {
		if err := printReplicas(stderr, all); err != nil {
			return "", err
		}
		return "", command.UsageErrors{fmt.Sprintf("%d replicas are alive; say which one", len(all))}
	}
	return all[0].ID, nil
}

// order sends the admin action.
func (d *draining) order(ctx context.Context) error {
	verb := "drain"
	if d.undo {
		verb = "undrain"
	}
	target := d.hub.URL.JoinPath("api", "admin", "replicas", url.PathEscape(string(d.replica)), verb)
	err := d.hub.SendAction(ctx, http.MethodPost, target, map[string]string{"reason": d.reason}, nil)
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, d.replica, forAdmins(err))
	}
	return nil
}

// await polls until the replica has the requested state, at most for d.wait. A replica that is
// no longer listed counts as drained.
func (d *draining) await(ctx context.Context, out io.Writer) error {
	want := membership.Drained
	if d.undo {
		want = membership.Serving
	}
	limited, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	last := replicaCard{}
	var failure error // of the last poll, unless the timeout caused it
	for {
		all, err := d.all(limited)
		now := replicaCard{}
		for _, c := range all {
			if c.ID == d.replica {
				now = c
			}
		}
		switch {
		case err == nil && now.State == want:
			fmt.Fprintf(out, "%s is %s.\n", d.replica, want)
			return nil
		case err == nil && now.ID == "" && !d.undo:
			fmt.Fprintf(out, "%s is gone.\n", d.replica)
			return nil
		case err == nil:
			last, failure = now, nil
		case limited.Err() == nil:
			failure = err
		}
		select {
		case <-time.After(drainEvery):
		case <-limited.Done():
			return errors.Join(fmt.Errorf("%s is not %s after %v: it is %s with %d sessions and %d tabs",
				d.replica, want, d.wait, cmp.Or(last.State, "unknown"), last.Owned, last.Tabs), failure, ctx.Err())
		}
	}
}
