package main

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// pipeSecret runs `hub secrets set` with a secret as standard input.
func pipeSecret(t *testing.T, h hubRun, secret string, args ...string) {
	t.Helper()
	var stdout, stderr strings.Builder
	p := command.Call{
		Args: append(args, "--server", h.invitation), Stdin: strings.NewReader(secret + "\n"), Stdout: &stdout, Stderr: &stderr, Local: localHub,
	}
	if err := dispatch(t.Context(), "secrets", p); err != nil {
		t.Fatalf("hub secrets %v: %v", args, err)
	}
}

// Secrets are found neither in the data, nor in the log, nor in anything that the hub sends, even
// when a model server quotes one in an error. They are in use, and survive a restart.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const modelKey, own = "sk-canary-model-0815-ABCD", "sk-canary-user-4711-EFGH"
	folder := t.TempDir()
	var log record
	var sent bytes.Buffer // by the hub
	start := func(args ...string) hubRun {
		return startHubLogging(t, &log, append([]string{
			"--store", "file:" + folder, "--log-level", "debug", "--anthropic-url", echoModel(t), "--rate-limits", "off",
		}, args...)...)
	}
	get := func(h hubRun, path string) string {
		t.Helper()
		_, token, _ := strings.Cut(h.invitation, "token=")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %v", path, res.StatusCode, err)
		}
		sent.Write(body)
		return string(body)
	}
	h := start()
	pipeSecret(t, h, modelKey, "set", "anthropicKey", "--scope", "hub")
	pipeSecret(t, h, own, "set", "mine")
	if code := h.stop(); code != command.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	h = start()
	if got := get(h, "/api/providers"); !strings.Contains(got, "anthropic") {
		t.Errorf("the providers are %s, want anthropic with the key of the secrets", got)
	}
	_, token, _ := strings.Cut(h.invitation, "token=")
	admin := visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	admin.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, "hello", wire.SetProvider{Provider: "anthropic"})
	here := "/api/sessions/" + url.PathEscape(string(made.SessionID))
	if got := get(h, "/api/secrets"); !strings.Contains(got, `"lastFour":"EFGH"`) {
		t.Errorf("the secrets are %s, want one that ends in EFGH", got)
	}
	for _, path := range []string{
		"/api/secrets?scope=hub", "/api/settings", "/api/settings/values", "/api/settings/catalogue", here + "/snapshot", here + "/events", here + "/rows", here + "/export",
		"/api/admin/audit", "/api/admin/sessions/" + string(made.SessionID), "/metrics", "/api/hub",
	} {
		get(h, path)
	}
	out, _ := call(t, command.ExitOK, "secrets", "rotate", "--server", h.invitation)
	if !strings.HasPrefix(out, "2 secrets encrypted with the key ") {
		t.Errorf("rotate prints %q", out)
	}
	if out, _ := call(t, command.ExitOK, "secrets", "--server", h.invitation); !strings.Contains(out, "set …EFGH") {
		t.Errorf("after the rotation the list is %q", out)
	}
	if code := h.stop(); code != command.ExitOK {
		t.Errorf("exit code %d", code)
	}
	hay := newHaystack(t, map[string]string{"key of the model": modelKey, "secret of the user": own})
	hay.search("the log", []byte(log.String()))
	hay.search("what the hub sent", sent.Bytes())
	hay.searchFolder(folder)

	// With another key the hub runs, and says that the secrets cannot be read.
	if err := os.Remove(filepath.Join(folder, secretKeyFile)); err != nil {
		t.Fatal(err)
	}
	h = start()
	if got := get(h, "/api/providers"); strings.Contains(got, "anthropic") {
		t.Errorf("the providers are %s, want none with a key that cannot be read", got)
	}
	if out, _ := call(t, command.ExitOK, "secrets", "--server", h.invitation); !strings.Contains(out, "cannot be read: the hub does not have the key") {
		t.Errorf("with another key the list is %q", out)
	}
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, "/say still here", wire.SetProvider{Provider: "demo"})
}
