package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/wire"
)

// replicaCard is a replica in the hub's answer.
type replicaCard struct {
	ID        wire.ReplicaID   `json:"id"`
	State     membership.State `json:"state"`
	Version   string           `json:"version"`
	URL       string           `json:"url"`
	StartedAt time.Time        `json:"startedAt"`
	Owned     int              `json:"owned"`
	Followed  int              `json:"followed"`
	Tabs      int              `json:"tabs"`
	Agents    int              `json:"agents"`
	Self      bool             `json:"self"`
}

// replicas lists the hubs that share a store.
func replicas(ctx context.Context, p program) error {
	var wrong complaints
	own, rest := ownFlags(p.args, map[string]bool{"server": true, "token": true, "json": false}, &wrong)
	r, rest := askWhom(own, rest, p, &wrong)
	refuse(rest, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	return listReplicas(ctx, p, r, own.has("json"))
}

// replicas is `hub admin replicas`, the same as `hub replicas`.
func (c *adminCall) replicas(ctx context.Context) error {
	return listReplicas(ctx, c.program, c.remote, c.json)
}

func listReplicas(ctx context.Context, p program, r *remote, asJSON bool) error {
	var raw json.RawMessage
	if err := r.ask(ctx, http.MethodGet, r.server.JoinPath("api", "admin", "replicas"), nil, &raw); err != nil {
		return fmt.Errorf("list replicas: %w", forAdmins(err))
	}
	if asJSON {
		_, err := fmt.Fprintf(p.stdout, "%s\n", raw)
		return err
	}
	all, err := readReplicas(raw)
	if err != nil {
		return err
	}
	return printReplicas(p.stdout, all)
}

func readReplicas(raw []byte) ([]replicaCard, error) {
	var list struct {
		Replicas []replicaCard `json:"replicas"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("list replicas: that is no answer of a hub: %w", err)
	}
	return list.Replicas, nil
}

func printReplicas(out io.Writer, all []replicaCard) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REPLICA\tSTATE\tOWNED\tFOLLOWED\tTABS\tAGENTS\tSTARTED\tVERSION\tURL")
	for _, c := range all {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", c.ID, cmp.Or(c.State, "?"), c.Owned, c.Followed, c.Tabs, c.Agents,
			c.StartedAt.UTC().Format("2006-01-02 15:04 UTC"), cmp.Or(oneLine(c.Version), "-"), cmp.Or(oneLine(c.URL), "-"))
	}
	return table.Flush()
}

// forAdmins replaces the 404 for an unknown path, which is also the answer to callers that are
// not admins or use the wrong address, with an error that says so.
func forAdmins(err error) error {
	if no, ok := errors.AsType[*refusedError](err); ok && no.status == http.StatusNotFound && strings.HasPrefix(no.detail, "Nothing is at ") {
		return errors.New("the hub shows that to admins only, or at an address of its own (its --admin-addr; give that as --server), or is too old to")
	}
	return err
}

// askWhom determines the hub and the credentials of an admin request. It parses the flags in rest
// as settings, which say where the local hub serves admins, and returns the other arguments.
func askWhom(own ownArgs, rest []string, p program, wrong *complaints) (*remote, []string) {
	return askAt(own, rest, p, wrong, func(cfg *config) { cfg.addr = cmp.Or(cfg.admin, cfg.addr) })
}

// askHub is askWhom for requests that are not admin requests.
func askHub(own ownArgs, rest []string, p program, wrong *complaints) (*remote, []string) {
	return askAt(own, rest, p, wrong, func(*config) {})
}

func askAt(own ownArgs, rest []string, p program, wrong *complaints, where func(*config)) (*remote, []string) {
	flags, rest := parseFlags(rest, wrong)
	cfg, _ := load(flags, p.environ, wrong)
	a := attachment{token: cmp.Or(own.last("token"), lookup(p.environ, tokenVariable))}
	where(&cfg)
	a.find(own, cfg, wrong)
	return &remote{server: a.server, token: a.token}, rest
}
