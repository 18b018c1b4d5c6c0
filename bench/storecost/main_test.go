//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/bench/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryOperationHasCost(t *testing.T) {
	t.Parallel()
	server, url, err := rig.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	costs, err := measure(t.Context(), url, effort{sessions: 2 * probeStores, rounds: 4, times: 1, watch: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	printCosts(&table, costs)
	const operations = 21
	if rows := strings.Count(table.String(), "\n") - 2; rows != operations {
		t.Errorf("got %d rows, want %d:\n%s", rows, operations, &table)
	}
	for _, c := range costs {
		// Differences of two short measurements may be below zero.
		if c.cpu <= 0 && c.operation != "release" && c.operation != "publish, added to a commit" {
			t.Errorf("%s: got %.1f µs of CPU, want more than 0", c.operation, c.cpu)
		}
	}
}
