package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// restTimeout is the timeout of a REST request, and of the response header of a stream.
const restTimeout = 15 * time.Second

// Bounds of answers, in bytes.
const (
	maxAnswer  = 16 << 20
	maxRefusal = 1 << 20
)

// Hub sends REST requests to a running hub. Its methods return a [*RefusedError] for an answer that
// is not a success.
type Hub struct {
	URL   *url.URL
	Token string // empty for none
}

// Ask sends a request, with in as JSON unless it is nil, and decodes the answer into out, unless
// that is nil.
func (h *Hub) Ask(ctx context.Context, method string, target *url.URL, in, out any) error {
	return h.request(ctx, method, target, "", in, out)
}

// SendAction sends an admin action with a new idempotency key. If the answer is lost, or is
// 503, it sends the action once more with the same key, so that the hub executes it once.
func (h *Hub) SendAction(ctx context.Context, method string, target *url.URL, in map[string]string, out any) error {
	key := "adm-" + rand.Text()
	err := h.request(ctx, method, target, key, in, out)
	if no, ok := errors.AsType[*RefusedError](err); err != nil && ctx.Err() == nil && (!ok || no.Status == http.StatusServiceUnavailable) {
		err = h.request(ctx, method, target, key, in, out)
	}
	return err
}

// request is Ask with an idempotency key, unless that is empty.
func (h *Hub) request(ctx context.Context, method string, target *url.URL, key string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := h.send(req, 0)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", h.URL.Host, err)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s did not answer like a hub", h.URL.Host) // the cause could quote a secret
	}
	return nil
}

// Transfer sends a request, with a zip file unless body is nil, and returns the answer, whose
// body the caller must close.
func (h *Hub) Transfer(ctx context.Context, method string, target *url.URL, body io.Reader, size int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", "application/zip")
	}
	return h.send(req, 0)
}

// Stream requests Server-Sent Events and returns the stream, which the caller must close. It does
// not end by itself.
func (h *Hub) Stream(ctx context.Context, target *url.URL) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := h.send(req, restTimeout)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// send sends a request with the token. It follows no redirects, so that the token is not sent to
// another host. headerTimeout is the timeout of the response header; 0 means none.
func (h *Hub) send(req *http.Request, headerTimeout time.Duration) (*http.Response, error) {
	if h.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: headerTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", h.URL.Host, command.Innermost(err))
	}
	if res.StatusCode < http.StatusMultipleChoices {
		return res, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", h.URL.Host, err)
	}
	return nil, refusedBy(res, answer, h.Token == "")
}
