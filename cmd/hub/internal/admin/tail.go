package admin

import (
	"bufio"
	"bytes"
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

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// maxEvent bounds a line of a stream, in bytes.
const maxEvent = 64 << 20

// tail prints the log of a session as it grows, until ctx ends. It reconnects after a lost
// connection, a 5xx answer or a 429 and continues at the last position; it returns an error if
// the first connection fails, the hub refuses the request otherwise or the output fails.
func (c *call) tail(ctx context.Context) error {
	at, failed := c.flags.Last("from"), 0
	if at == "" { // the current position, so that nothing is missed when the connection is lost
		var log struct {
			Top wire.Position `json:"top"`
		}
		target := c.session("events")
		target.RawQuery = "limit=1"
		if err := c.hub.Ask(ctx, http.MethodGet, target, nil, &log); err != nil {
			return fmt.Errorf("follow the session: %w", forAdmins(err))
		}
		at = log.Top.String()
	}
	for connected := false; ; {
		err := c.readStream(ctx, at, func(event, id string, data []byte) error {
			if event == "problem" {
				return streamEnd(data)
			}
			at, failed = cmp.Or(id, at), 0
			return c.printEvent(event, data)
		}, &connected)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // interrupted by the user
		}
		if _, ok := errors.AsType[*outputError](err); ok {
			return err
		}
		if no, ok := errors.AsType[*remote.RefusedError](err); !connected || ok && no.Status < http.StatusInternalServerError && no.Status != http.StatusTooManyRequests {
			return fmt.Errorf("follow the session: %w", forAdmins(err))
		}
		failed++
		wait := client.FullJitter(failed)
		fmt.Fprintf(c.program.Stderr, "hub: the connection is lost (%v); trying again\n", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// streamEnd decodes the problem event with which a hub ends a stream.
func streamEnd(data []byte) error {
	var p wire.Problem
	if json.Unmarshal(data, &p) != nil {
		return io.ErrUnexpectedEOF
	}
	return &remote.RefusedError{Status: p.Status, Detail: terminal.OneLine(p.Detail)}
}

// readStream reads the stream of a session's events after a position over one connection, and sets
// connected once the hub has answered 200. It always returns an error: why the connection
// ended.
func (c *call) readStream(ctx context.Context, after string, each func(event, id string, data []byte) error, connected *bool) error {
	query := url.Values{}
	for _, name := range []string{"type", "agent", "monitor"} {
		if c.flags.Has(name) {
			query.Set(name, c.flags.Last(name))
		}
	}
	if after != "" {
		query.Set("after", after)
	}
	target := c.session("tail")
	target.RawQuery = query.Encode()
	stream, err := c.hub.Stream(ctx, target)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // read to its end, or as far as needed
	*connected = true
	return readEvents(stream, each)
}

// readEvents parses Server-Sent Events. It returns the first error of each, or the read error,
// or io.ErrUnexpectedEOF at the end of the stream.
func readEvents(r io.Reader, each func(event, id string, data []byte) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxEvent)
	var event, id string
	var data []byte
	for in.Scan() {
		name, value, _ := bytes.Cut(in.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			event = string(value)
		case "id":
			id = string(value)
		case "data":
			data = append(append(data, value...), '\n')
		case "":
			if len(in.Bytes()) > 0 || event == "" && data == nil {
				continue // a comment or an empty line
			}
			if err := each(event, id, bytes.TrimSuffix(data, []byte("\n"))); err != nil {
				return err
			}
			event, id, data = "", "", nil
		}
	}
	return cmp.Or(in.Err(), io.ErrUnexpectedEOF)
}

// printEvent prints an event on one line. The error of the output is an [*outputError].
func (c *call) printEvent(event string, data []byte) error {
	format := eventText
	if c.json {
		format = eventJSON
	}
	line, err := format(event, data)
	if err != nil {
		return err
	}
	// One write per line keeps lines intact when two programs share an output.
	if _, err := io.WriteString(c.program.Stdout, line+"\n"); err != nil {
		return &outputError{err}
	}
	return nil
}

// outputError is an error of the standard output.
type outputError struct{ err error }

func (e *outputError) Error() string { return "print an event: " + e.err.Error() }

func (e *outputError) Unwrap() error { return e.err }

// eventJSON formats an event as compact JSON. Events of the stream that are not log events
// become {"event":…,"data":…}.
func eventJSON(event string, data []byte) (string, error) {
	var line bytes.Buffer
	if json.Compact(&line, data) != nil {
		line.Reset()
		line.WriteString(`{}`)
	}
	if event != "event" {
		return fmt.Sprintf("{\"event\":%q,\"data\":%s}", event, &line), nil
	}
	return line.String(), nil
}

// eventText formats an event for people.
func eventText(event string, data []byte) (string, error) {
	if event != "event" {
		return fmt.Sprintf("… %s %s", terminal.OneLine(event), terminal.Shorten(terminal.OneLine(string(data)), 200)), nil
	}
	var e struct {
		Type string          `json:"type"`
		ID   string          `json:"message_id"`
		Time moment          `json:"timestamp"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return "", fmt.Errorf("that is no event of a hub: %w", err)
	}
	return fmt.Sprintf("%s %-8s %-20s %s", e.Time.Local().Format("15:04:05.000"), terminal.OneLine(e.ID), terminal.OneLine(e.Type),
		terminal.Shorten(terminal.OneLine(strings.ToValidUTF8(string(e.Data), "?")), 200)), nil
}
