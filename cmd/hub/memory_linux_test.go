package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
)

// freshHeap is set in the process that TestHeapGrowsInLargePages starts.
const freshHeap = "EVERDESK_TEST_FRESH_HEAP"

// The heap grows where large pages are asked for. Where the system has none, it grows all the same.
// The test needs a process of its own: other tests leave free memory that was there before.
func TestHeapGrowsInLargePages(t *testing.T) {
	t.Parallel()
	if os.Getenv(freshHeap) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHeapGrowsInLargePages$", "-test.v")
		child.Env = append(os.Environ(), freshHeap+"=1")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestHeapGrowsInLargePages") {
			t.Errorf("in a process of its own: %v\n%s", err, out)
		}
		return
	}
	growInLargePages(256<<20, os.DirFS("/"))
	grown := make([]byte, 64<<20)
	grown[0] = 1
	asked, err := asksForLargePages(fmt.Sprintf("%p", &grown[0]))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat("/sys/kernel/mm/transparent_hugepage")
	if has := err == nil && !rationed(os.DirFS("/")); asked != has {
		t.Errorf("the heap asks for large pages: %v; the system has them: %v", asked, has)
	}
}

func TestMemoryIsRationed(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bool{"0\n": false, "1\n": false, "2\n": true} {
		root := fstest.MapFS{"proc/sys/vm/overcommit_memory": &fstest.MapFile{Data: []byte(mode)}}
		if got := rationed(root); got != want {
			t.Errorf("mode %q: %v", mode, got)
		}
	}
	if !rationed(fstest.MapFS{}) {
		t.Error("memory that nothing is known of is not rationed")
	}
}

// asksForLargePages reports what the system knows of the memory at an address.
func asksForLargePages(address string) (bool, error) {
	var want uint64
	if _, err := fmt.Sscanf(address, "0x%x", &want); err != nil {
		return false, err
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return false, err
	}
	defer file.Close()
	here := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var from, to uint64
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &from, &to); n == 2 {
			here = from <= want && want < to
		}
		if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && here {
			return strings.Contains(flags+" ", " hg "), nil
		}
	}
	return false, fmt.Errorf("%s is not mapped", address)
}
