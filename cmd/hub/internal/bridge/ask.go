package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
)

const (
	// awayTimeout is how long a request waits for a hub that is not there, such as one that
	// restarts. The pause between two attempts grows from firstPause to lastPause.
	awayTimeout = 30 * time.Second
	firstPause  = 50 * time.Millisecond
	lastPause   = 2 * time.Second
)

var (
	// errNotSent means that the hub has not executed the request.
	errNotSent = errors.New("the hub cannot be reached")
	// errRefused means that the hub does not accept the token.
	errRefused = errors.New("the hub does not accept the MCP token")
	// errFinal means that the hub would answer the same request in the same way again.
	errFinal = errors.New("the hub refuses the request")
)

// sendUntilAnswered sends a request until the hub answers it. A call of a tool is not sent again after it may have
// reached the hub.
func (b *bridge) sendUntilAnswered(ctx context.Context, m message, body []byte) ([]byte, error) {
	deadline := time.Now().Add(awayTimeout)
	refused := ""
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		token, err := b.tokens.get(ctx, refused)
		if err == nil {
			var answer []byte
			if answer, err = b.send(ctx, m, body, token); err == nil {
				b.recordVersion(m, answer)
				return answer, nil
			}
		} else if no, ok := errors.AsType[*remote.RefusedError](err); ok && no.Status != http.StatusServiceUnavailable {
			return nil, fmt.Errorf("make an MCP token: %w", err)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errRefused) && refused == "":
			refused = token
			continue
		case errors.Is(err, errRefused), errors.Is(err, errFinal):
			return nil, err
		case !errors.Is(err, errNotSent) && m.Method == "tools/call" && token != "":
			return nil, fmt.Errorf("the connection to the hub was lost: %w; it is not known whether the tool has run", err)
		case time.Now().After(deadline):
			return nil, err
		}
		if pause == firstPause {
			b.logf("waiting for the hub: %v", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// send sends a request once and returns the answer; nil for a notification.
func (b *bridge) send(ctx context.Context, m message, body []byte, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	b.setVersion(req, m)
	res, err := b.client.Do(req)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return nil, fmt.Errorf("%w: %w", errNotSent, command.Innermost(err))
		}
		return nil, command.Innermost(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch isJSON := strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"); {
	case err != nil:
		return nil, command.Innermost(err)
	case res.StatusCode == http.StatusUnauthorized:
		return nil, errRefused
	case res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: it answered %s", errNotSent, res.Status)
	case res.StatusCode == http.StatusAccepted: // of a notification, or of the answer to a request of the hub
		return nil, nil
	case res.StatusCode < http.StatusMultipleChoices && m.ID == nil, isJSON && json.Valid(answer) && m.ID != nil:
		return answer, nil
	}
	err = fmt.Errorf("the hub answered %s: %.200s", res.Status, bytes.TrimSpace(answer))
	if res.StatusCode < http.StatusInternalServerError {
		err = fmt.Errorf("%w: %w", errFinal, err)
	}
	return nil, err
}

// setVersion sets the headers about the version of the protocol: of the message itself, as clients of
// newer versions send it, or the one that initialize has agreed on.
func (b *bridge) setVersion(req *http.Request, m message) {
	b.mu.Lock()
	version := b.version
	b.mu.Unlock()
	if m.Params.Meta.Version != "" {
		version = m.Params.Meta.Version
		req.Header.Set("Mcp-Method", m.Method)
		if m.Params.Name != "" {
			req.Header.Set("Mcp-Name", m.Params.Name)
		}
	}
	if version != "" && m.Method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
}

// recordVersion keeps the version that the answer to initialize names.
func (b *bridge) recordVersion(m message, answer []byte) {
	var a struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if m.Method == "initialize" && json.Unmarshal(answer, &a) == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.version = a.Result.ProtocolVersion
	}
}

// ping is a request without an effect.
const ping = `{"jsonrpc":"2.0","id":"lease","method":"ping"}`

// renewLease uses the token that the bridge has made, again and again, so that it expires soon after the
// bridge is killed. A token that has expired, such as while the machine was asleep, is replaced by the
// next request of the client.
func (b *bridge) renewLease(ctx context.Context) {
	every := time.NewTicker(b.tokens.lease / renewals)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		token := b.tokens.made()
		if token == "" {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, b.tokens.lease/renewals)
		if _, err := b.send(limited, message{ID: json.RawMessage(`"lease"`), Method: "ping"}, []byte(ping), token); err != nil && ctx.Err() == nil {
			b.logf("MCP token not renewed: %v", err)
		}
		cancel()
	}
}
