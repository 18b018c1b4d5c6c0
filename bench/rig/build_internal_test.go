//go:build linux

package rig

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A build is killed with its children at its timeout and when its context ends.
func TestBuildIsKilled(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	err := build(t.Context(), 50*time.Millisecond, "sh", "-c", "sleep 60 & echo compiling; sleep 60")
	if err == nil || !strings.Contains(err.Error(), "not done after 50ms") {
		t.Errorf("got error %v, want a timeout after 50ms", err)
	}
	why := errors.New("canceled by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := build(ctx, time.Hour, "sh", "-c", "sleep 60"); !errors.Is(err, why) {
		t.Errorf("got error %v, want %v", err, why)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("killing the builds took %v, want at most 30s", took)
	}
}

func TestBuildFails(t *testing.T) {
	t.Parallel()
	if err := build(t.Context(), time.Minute, "sh", "-c", "echo no such thing; exit 1"); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got error %v, want the output of the compiler", err)
	}
}
