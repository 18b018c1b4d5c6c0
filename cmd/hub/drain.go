package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/wire"
)

// drainEvery is the polling interval for the progress of a drain.
const drainEvery = 200 * time.Millisecond

// draining holds the arguments of `hub drain`, and of `hub admin drain` and undrain.
type draining struct {
	*remote
	replica wire.ReplicaID // empty: the only one
	reason  string
	undo    bool
	wait    time.Duration
}

// drain makes a replica hand over its sessions or, with --undo, serve again.
func drain(ctx context.Context, p program) error {
	var wrong complaints
	d := parseDrain(p, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	if d.replica == "" {
		only, err := d.only(ctx, p)
		if err != nil {
			return err
		}
		d.replica = only
	}
	if err := d.order(ctx); err != nil {
		return err
	}
	if d.wait == 0 {
		fmt.Fprintf(p.stdout, "%s was told; hub replicas shows how far it is.\n", d.replica)
		return nil
	}
	return d.await(ctx, p)
}

func parseDrain(p program, wrong *complaints) draining {
	own, rest := ownFlags(p.args, map[string]bool{"server": true, "token": true, "reason": true, "undo": false, "wait": true}, wrong)
	r, rest := askWhom(own, rest, p, wrong)
	d := draining{remote: r, reason: own.last("reason"), undo: own.has("undo")}
	if len(rest) > 0 {
		d.replica = wire.ReplicaID(rest[0])
		if err := d.replica.Validate(); err != nil {
			wrong.add("replica %q: %v", rest[0], err)
		}
		refuse(rest[1:], wrong)
	}
	if strings.TrimSpace(d.reason) == "" {
		d.reason = "hub drain"
	}
	if text := own.last("wait"); text != "" {
		var err error
		if d.wait, err = parseDuration(text); err != nil {
			wrong.add("flag --wait: %v; got %q", err, text)
		}
	}
	return d
}

// all lists the replicas.
func (d *draining) all(ctx context.Context) ([]replicaCard, error) {
	var raw json.RawMessage
	if err := d.ask(ctx, http.MethodGet, d.server.JoinPath("api", "admin", "replicas"), nil, &raw); err != nil {
		return nil, fmt.Errorf("list replicas: %w", forAdmins(err))
	}
	return readReplicas(raw)
}

// only returns the only replica. Several are an error, because behind a load balancer any of
// them could answer; it then prints the list.
func (d *draining) only(ctx context.Context, p program) (wire.ReplicaID, error) {
	all, err := d.all(ctx)
	if err != nil {
		return "", err
	}
	if len(all) != 1 {
		if err := printReplicas(p.stderr, all); err != nil {
			return "", err
		}
		return "", complaints{fmt.Sprintf("%d replicas are alive; say which one", len(all))}
	}
	return all[0].ID, nil
}

// order sends the admin action.
func (d *draining) order(ctx context.Context) error {
	verb := "drain"
	if d.undo {
		verb = "undrain"
	}
	target := d.server.JoinPath("api", "admin", "replicas", url.PathEscape(string(d.replica)), verb)
	err := d.sendAction(ctx, http.MethodPost, target, map[string]string{"reason": d.reason}, nil)
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, d.replica, forAdmins(err))
	}
	return nil
}

// await polls until the replica has the requested state, at most for d.wait. A replica that is
// no longer listed counts as drained.
func (d *draining) await(ctx context.Context, p program) error {
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
			fmt.Fprintf(p.stdout, "%s is %s.\n", d.replica, want)
			return nil
		case err == nil && now.ID == "" && !d.undo:
			fmt.Fprintf(p.stdout, "%s is gone.\n", d.replica)
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
