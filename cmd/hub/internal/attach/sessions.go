package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// sessionCard is a session in the hub's answers.
type sessionCard struct {
	SessionID wire.SessionID `json:"sessionId"`
	Title     string         `json:"title"`
	User      string         `json:"user"`
	Access    string         `json:"access"`
	Working   bool           `json:"working"`
	SetAside  bool           `json:"setAside"`
	Metadata  struct {
		LastActivity time.Time `json:"lastActivity"`
	} `json:"metadata"`
}

// list prints the first page of the sessions that the user may see, in the order of the hub.
func (a *attachment) list(ctx context.Context, stdout io.Writer) error {
	var page struct {
		Sessions []sessionCard `json:"sessions"`
		Next     string        `json:"next"`
	}
	if err := a.hub.Ask(ctx, http.MethodGet, a.hub.URL.JoinPath("api", "sessions"), nil, &page); err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	if len(page.Sessions) == 0 {
		fmt.Fprintln(stdout, "No sessions yet; hub attach --new makes one.")
		return nil
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tTITLE\tLAST USED\tSTATE\tACCESS\tUSER")
	for _, s := range page.Sessions {
		state := "idle"
		switch {
		case s.SetAside:
			state = "quarantined"
		case s.Working:
			state = "working"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.SessionID, cmp.Or(terminal.Shorten(terminal.OneLine(s.Title), 40), "-"),
			s.Metadata.LastActivity.UTC().Format("2006-01-02 15:04 UTC"), state, s.Access, terminal.OneLine(s.User))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if page.Next != "" {
		fmt.Fprintln(stdout, "… and older ones.")
	}
	return nil
}

func (a *attachment) create(ctx context.Context) (wire.SessionID, error) {
	var card sessionCard
	if err := a.hub.Ask(ctx, http.MethodPost, a.hub.URL.JoinPath("api", "sessions"), map[string]string{"title": a.title}, &card); err != nil {
		return "", fmt.Errorf("make a session: %w", err)
	}
	if err := card.SessionID.Validate(); err != nil {
		return "", fmt.Errorf("make a session: hub answered with %w", err)
	}
	return card.SessionID, nil
}

// checkAccess returns an error if there is no token and the hub requires one. Over a WebSocket
// that would show only later, because the hub waits for credentials. It does not check a token,
// and an unreachable hub is not an error: it may start later.
func (a *attachment) checkAccess(ctx context.Context) error {
	if a.hub.Token != "" {
		return nil
	}
	var card sessionCard
	err := a.hub.Ask(ctx, http.MethodGet, a.hub.URL.JoinPath("api", "sessions", string(a.session)), nil, &card)
	if no, ok := errors.AsType[*remote.RefusedError](err); ok && no.Status == http.StatusUnauthorized {
		return err
	}
	return nil
}
