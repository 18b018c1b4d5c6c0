//go:build linux

package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/everdesk/everdesk/wire"
)

// APIClient is a client of a hub's REST API.
type APIClient struct {
	// URL is the base URL, as in http://127.0.0.1:8080; Token may be empty.
	URL, Token string
	Client     *http.Client
}

// CreateSession creates a session.
func (c APIClient) CreateSession(ctx context.Context, title string) (wire.SessionID, error) {
	var created struct {
		ID wire.SessionID `json:"sessionId"`
	}
	in := map[string]string{}
	if title != "" {
		in["title"] = title
	}
	err := c.Do(ctx, http.MethodPost, "/api/sessions", in, &created)
	if err == nil {
		err = created.ID.Validate()
	}
	if err != nil {
		return "", fmt.Errorf("create session: %w", err)
	}
	return created.ID, nil
}

// Do sends a request with in as JSON, unless it is nil, and decodes the response into out,
// unless that is nil.
func (c APIClient) Do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := c.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, answer)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w: %.300s", method, path, err, answer)
	}
	return nil
}
