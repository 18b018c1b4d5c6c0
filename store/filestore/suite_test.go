package filestore_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/storetest"
)

// env is a store under test with all the hooks of the suite.
type env struct {
	dir   string
	base  filestore.Config
	opts  storetest.Options
	store *filestore.Store
}

func (e *env) open(t *testing.T) *filestore.Store {
	t.Helper()
	cfg := e.base
	cfg.Limits, cfg.Schema = e.opts.Limits, e.opts.Schema
	e.store = open(t, e.dir, cfg)
	return e.store
}

// roles returns the parts of a store as the roles of the contract.
func roles(s *filestore.Store) storetest.Engine {
	return storetest.Engine{
		Lifecycle: s.Sessions, Leases: s.Sessions, Contents: s.Sessions, Inbox: s.Sessions, Directory: s.Sessions,
		Replicas: s.Replicas, Semaphores: s.Semaphores, Rates: s.Rates, Documents: s.Documents, Service: s,
	}
}

func (e *env) reopen(t *testing.T, o storetest.Options) storetest.Engine {
	t.Helper()
	ok(t, e.store.Close())
	e.opts = o
	return roles(e.open(t))
}

func (e *env) checkpoint(t *testing.T) func(*testing.T) storetest.Engine {
	t.Helper()
	saved := filepath.Join(quickDir(t), "saved")
	ok(t, os.CopyFS(saved, os.DirFS(e.dir)))
	return func(t *testing.T) storetest.Engine {
		t.Helper()
		ok(t, e.store.Close())
		ok(t, os.RemoveAll(e.dir))
		ok(t, os.CopyFS(e.dir, os.DirFS(saved)))
		return roles(e.open(t))
	}
}

func (e *env) corrupt(t *testing.T, d storetest.Damage) storetest.Engine {
	t.Helper()
	file, off, size := e.store.Locate(d)
	if file == "" {
		t.Fatalf("there is no record of %+v, want one to damage", d)
	}
	flip(t, filepath.Join(e.dir, file), off+size/2, int(off))
	return roles(e.store)
}

// setup makes environments of stores with a given configuration.
func setup(base filestore.Config, unit time.Duration, virtual bool) storetest.Setup {
	return func(t *testing.T, o storetest.Options) storetest.Env {
		t.Helper()
		e := &env{dir: quickDir(t), base: base, opts: o}
		e.open(t)
		return storetest.Env{
			Open:    func(*testing.T) storetest.Engine { return roles(e.store) },
			Advance: time.Sleep,
			Unit:    unit, Virtual: virtual,
			Reopen: e.reopen, Checkpoint: e.checkpoint, Corrupt: e.corrupt,
		}
	}
}

// TestContract holds the store against its contract in virtual time, with
// segments so small that compaction and rolling happen all the time.
func TestContract(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]filestore.Config{
		"interval": {},
		"always":   {Sync: filestore.SyncAlways, SegmentBytes: 4 << 10},
		"off":      {Sync: filestore.SyncOff, SegmentBytes: 8 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, synctest.Test, setup(cfg, time.Minute, true))
		})
	}
}

// TestContractInRealTime does the same once more without a bubble.
func TestContractInRealTime(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Plain, setup(filestore.Config{}, 200*time.Millisecond, false))
}

// TestModel compares the store with a pure model over random programs.
func TestModel(t *testing.T) {
	t.Parallel()
	storetest.RunModel(t, synctest.Test, setup(filestore.Config{SegmentBytes: 8 << 10}, time.Minute, true))
}
