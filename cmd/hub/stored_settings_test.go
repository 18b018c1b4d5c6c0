package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// The auto-approval rules of a file of Roo-Code become those of the session that is named.
func TestImportedApprovalRules(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--auth", "none")
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	visitor{t, h.url, http.Header{}}.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	file := filepath.Join(t.TempDir(), "roo.json")
	if err := os.WriteFile(file, []byte(`{"providerProfiles":{"apiConfigs":{}},"globalSettings":{"autoApprovalEnabled":true,"alwaysAllowReadOnly":true,"allowedCommands":["git log"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	call := command.Call{Args: []string{"import", file, "--session", string(made.SessionID), "--server", h.url}, Stdout: &stdout, Stderr: &stderr, Local: localHub}
	if err := dispatch(t.Context(), "settings", call); err != nil || strings.Count(stdout.String(), "taken") != 3 {
		t.Fatalf("the import ends with %v and reports\n%s\nwant three rules taken", err, stdout.String())
	}
	c, err := client.New(client.Config{URL: h.url, Session: made.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	<-c.Ready()
	rules := c.State().AutoApproval
	if rules == nil || !rules.AutoApprovalEnabled || !rules.AlwaysAllowReadOnly || len(rules.AllowedCommands) != 1 {
		t.Errorf("the rules of the session are %+v, want those of the file", rules)
	}
	call.Args = []string{"import", file, "--session", "ses-gone", "--server", h.url}
	stdout.Reset()
	if err := dispatch(t.Context(), "settings", call); err == nil || strings.Count(stdout.String(), "refused  global") != 3 {
		t.Errorf("for a session that does not exist the import ends with %v and reports\n%s\nwant three rules refused", err, stdout.String())
	}
}
