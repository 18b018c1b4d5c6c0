package admin

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

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
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

// ReplicasCommand returns `hub replicas`, which lists the hubs that share a store.
func ReplicasCommand() command.Command {
	return command.Command{
		Name: "replicas", Args: "[flags]", Help: "list the hubs that share a store",
		Flags: `--server URL      any of them, at its --admin-addr if it has one; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN
			--json            the JSON answer of the hub`,
		Run: replicas,
	}
}

// replicas lists the hubs that share a store.
func replicas(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	hub, flags, rest := remote.ParseAdmin(p, map[string]command.Arity{"json": command.NoValue}, &wrong)
	wrong.Refuse(rest)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	return listReplicas(ctx, p.Stdout, hub, flags.Has("json"))
}

// replicas is `hub admin replicas`, the same as `hub replicas`.
func (c *call) replicas(ctx context.Context) error {
	return listReplicas(ctx, c.program.Stdout, c.hub, c.json)
}

func listReplicas(ctx context.Context, out io.Writer, hub *remote.Hub, asJSON bool) error {
	var raw json.RawMessage
	if err := hub.Ask(ctx, http.MethodGet, hub.URL.JoinPath("api", "admin", "replicas"), nil, &raw); err != nil {
		return fmt.Errorf("list replicas: %w", forAdmins(err))
	}
	if asJSON {
		_, err := fmt.Fprintf(out, "%s\n", raw)
		return err
	}
	all, err := readReplicas(raw)
	if err != nil {
		return err
	}
	return printReplicas(out, all)
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
			c.StartedAt.UTC().Format("2006-01-02 15:04 UTC"), cmp.Or(terminal.OneLine(c.Version), "-"), cmp.Or(terminal.OneLine(c.URL), "-"))
	}
	return table.Flush()
}

// forAdmins replaces the 404 for an unknown path, which is also the answer to callers that are
// not admins or use the wrong address, with an error that says so.
func forAdmins(err error) error {
	if no, ok := errors.AsType[*remote.RefusedError](err); ok && no.Status == http.StatusNotFound && strings.HasPrefix(no.Detail, "Nothing is at ") {
		return errors.New("the hub shows that to admins only, or at an address of its own (its --admin-addr; give that as --server), or is too old to")
	}
	return err
}
