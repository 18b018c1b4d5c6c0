package mcpclient_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
)

// alive reports whether a process runs, and is no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(data), ") Z ")
}

func TestNothingOfAServerIsLeft(t *testing.T) {
	t.Parallel()
	child := filepath.Join(t.TempDir(), "child")
	b := setUp(t, []mcpclient.Server{program("test", "child="+child)}, nil)
	b.must(ann, "test", "echo", `{"text":"a"}`)
	data, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil || !alive(pid) {
		t.Fatalf("the child %q is not there: %v", data, err)
	}
	b.Close()
	await(t, "no process of the group", func() bool { return !alive(pid) }) // it is killed before Close returns, and gone soon after
	if _, err := b.call(ann, "test", "echo", `{}`); err == nil {
		t.Error("a closed manager starts a server, want an error")
	}
}
