package mcpclient

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Names for models are accepted by all model APIs, and different tools have different ones.
func TestModelNames(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^mcp__[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9_. /ä-]{1,70}`)
		server, tool, other := name.Draw(t, "server"), name.Draw(t, "tool"), name.Draw(t, "other")
		got := modelName(server, tool)
		if len(got) > maxModelName || !form.MatchString(got) {
			t.Fatalf("the name of %q of %q is %q, want at most %d characters of the form %s", tool, server, got, maxModelName, form)
		}
		if more := modelName(server, other); tool != other && more == got {
			t.Fatalf("%q and %q have the same name %q", tool, other, got)
		}
		part, rest, _ := strings.Cut(strings.TrimPrefix(got, Prefix), "__")
		if part != serverPart(server) || rest == "" {
			t.Fatalf("the first part of %q is %q, want %q", got, part, serverPart(server))
		}
	})
	if got := modelName("github", "create_issue"); got != "mcp__github__create_issue" {
		t.Errorf("got %q, want mcp__github__create_issue", got)
	}
}

// From every state there is a way to stopped, and only a needed server starts.
func TestStates(t *testing.T) {
	t.Parallel()
	for from, on := range transitions {
		for e, to := range on {
			if to == Starting && e != needed {
				t.Errorf("%s starts on %s, want only on %s", from, e, needed)
			}
			if transitions[to] == nil {
				t.Errorf("%s leads to %s, which has no way out", from, to)
			}
		}
		state := from
		for _, e := range []event{ended, gone} {
			if next, ok := transitions[state][e]; ok {
				state = next
			}
		}
		if state != Stopped {
			t.Errorf("%s ends in %s, want %s", from, state, Stopped)
		}
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 10: time.Minute, 1000: time.Minute} {
		if got := backoff(failures, time.Second, time.Minute); got != want {
			t.Errorf("after %d failures the pause is %s, want %s", failures, got, want)
		}
	}
}

func TestLogIsBoundedAndHasNoSecrets(t *testing.T) {
	t.Parallel()
	r := &ring{}
	r.hide([]string{"s3cret"})
	for range 3 * logLines {
		if _, err := r.Write([]byte("a s3cret " + strings.Repeat("x", 3*logLine) + "\nhalf")); err != nil {
			t.Fatal(err)
		}
	}
	all := r.all()
	if len(all) != logLines {
		t.Errorf("the log has %d lines, want %d", len(all), logLines)
	}
	for _, l := range all {
		if strings.Contains(l.Text, "s3cret") || len(l.Text) > logLine+len("…") {
			t.Fatalf("a line is %.100q with %d bytes, want no secret and at most %d bytes", l.Text, len(l.Text), logLine)
		}
	}
}

// A secret that contains another one is removed as a whole.
func TestLogHasNoRestOfASecret(t *testing.T) {
	t.Parallel()
	r := &ring{}
	r.hide([]string{"pass", "password-1"})
	if got := r.clean("login with password-1"); got != "login with ***" {
		t.Errorf("got %q, want the secret replaced", got)
	}
}
