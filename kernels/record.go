package kernels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/providers/jsonline"
)

// Files in the folder of a server.
const (
	recordFile = "server.json"
	recordLock = "server.lock" // locked while a hub decides which server there is
	usersLock  = "users.lock"  // locked, but shared, by each hub that uses the server
	logFile    = "server.log"
)

// record describes a running server, so that a hub that was killed can be continued by another one.
type record struct {
	PID int `json:"pid"`
	// Start is when the process started, because ids of processes are used again.
	Start string `json:"start"`
	Port  int    `json:"port"`
	Token string `json:"token"`
	Root  string `json:"root"`
}

// readRecord returns the record in a folder. It reports false if there is none, or none that can be used.
func readRecord(dir string) (record, bool) {
	var r record
	data, err := os.ReadFile(filepath.Join(dir, recordFile)) //nolint:gosec // a folder of the operator
	if err != nil || json.Unmarshal(data, &r) != nil {
		return record{}, false // whatever it described ends by itself
	}
	return r, r.PID > 1 && r.Start != "" && r.Port > 0 && r.Port < 1<<16 && r.Token != ""
}

// write stores the record. A hub that is killed meanwhile leaves the old record or the new one.
func (r record) write(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record of the Jupyter server: %w", err)
	}
	name := filepath.Join(dir, recordFile)
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		return fmt.Errorf("record of the Jupyter server: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("record of the Jupyter server: %w", err)
	}
	return nil
}

func (r record) url() string { return "http://127.0.0.1:" + strconv.Itoa(r.Port) }

// alive reports whether the process of the record runs.
func (r record) alive() bool {
	start, ok := processStart(r.PID)
	return ok && start == r.Start
}

// How long a server may take to end before it is killed.
const (
	termGrace = 5 * time.Second
	killGrace = 10 * time.Second
)

// end ends the process of the record. It does nothing to another process that has its id now.
func (r record) end() {
	p, err := os.FindProcess(r.PID) // on Linux this is a handle of the process and not only its id
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if !r.alive() {
		return
	}
	if err := terminate(p); err == nil && r.awaitEnd(termGrace) {
		return
	}
	jsonline.KillTree(p)
	r.awaitEnd(killGrace)
}

// awaitEnd waits until the process has ended, and reports whether it has.
func (r record) awaitEnd(atMost time.Duration) bool {
	limit := time.NewTimer(atMost)
	defer limit.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for r.alive() {
		select {
		case <-limit.C:
			return false
		case <-look.C:
		}
	}
	return true
}

// openLocked opens and locks a file in a folder, and waits while another process has it. It is unlocked when it is
// closed, and when this process ends.
func openLocked(ctx context.Context, dir, name string, exclusive bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a folder of the operator
	if err != nil {
		return nil, fmt.Errorf("lock the Jupyter server: %w", err)
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		err := tryLock(f, exclusive)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, errors.Join(fmt.Errorf("lock the Jupyter server: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another hub that uses the Jupyter server: %w", context.Cause(ctx)), f.Close())
		case <-look.C:
		}
	}
}

// closeFile closes a file that was locked or read, which unlocks it.
func closeFile(f *os.File) { _ = f.Close() } // nothing of it can be lost

// errHeld is what tryLock returns when another process has the lock.
var errHeld = errors.New("another process has the lock")

// unused reports whether no hub uses the server of a folder. A process that is just being started, or the server
// itself, may have the lock for a moment.
func unused(ctx context.Context, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	f, err := openLocked(ctx, dir, usersLock, true)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
