package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// restTimeout is the timeout of a REST request, and of the response header of a stream.
const restTimeout = 15 * time.Second

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
	if err := a.ask(ctx, http.MethodGet, a.server.JoinPath("api", "sessions"), nil, &page); err != nil {
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
			state = "set aside"
		case s.Working:
			state = "working"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.SessionID, cmp.Or(shorten(oneLine(s.Title), 40), "-"),
			s.Metadata.LastActivity.UTC().Format("2006-01-02 15:04 UTC"), state, s.Access, oneLine(s.User))
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
	body, err := json.Marshal(map[string]string{"title": a.title})
	if err != nil {
		return "", err
	}
	var card sessionCard
	if err := a.ask(ctx, http.MethodPost, a.server.JoinPath("api", "sessions"), body, &card); err != nil {
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
	if a.token != "" {
		return nil
	}
	var card sessionCard
	err := a.ask(ctx, http.MethodGet, a.server.JoinPath("api", "sessions", string(a.session)), nil, &card)
	if no, ok := errors.AsType[*refusedError](err); ok && no.status == http.StatusUnauthorized {
		return err
	}
	return nil
}

// ask sends a REST request and decodes the JSON answer into into.
func (a *attachment) ask(ctx context.Context, method string, target *url.URL, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	hub := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		// The token must not be sent to another host by a redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := hub.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", a.server.Host, innermost(err))
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", a.server.Host, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusedBy(res, answer, a.token == "")
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s did not answer like a hub: %w", a.server.Host, err)
	}
	return nil
}

// refusedBy returns the error for an answer that is not a success. stranger is set if the request
// had no token.
func refusedBy(res *http.Response, answer []byte, stranger bool) error {
	var p struct {
		wire.Problem
		Field string `json:"field"`
	}
	if json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		p.Detail = http.StatusText(res.StatusCode)
	}
	hint := ""
	if res.StatusCode == http.StatusUnauthorized && stranger {
		hint = " Say who you are with --token or HUB_TOKEN."
	}
	return &refusedError{status: res.StatusCode, detail: oneLine(p.Detail) + hint, field: p.Field}
}

// refusedError is an answer of a hub that is not a success.
type refusedError struct {
	status int
	detail string
	field  string // the invalid field, if the hub named one
}

func (r *refusedError) Error() string { return fmt.Sprintf("hub answered %d: %s", r.status, r.detail) }
