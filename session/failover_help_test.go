package session_test

import (
	"context"
	"iter"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// lagging is a store that can be replaced by an older copy of itself, as a failover to
// a replica that lags behind its master does.
type lagging struct {
	engine // replaced while no call is under way but those of Tail and Receive
	t      *testing.T
	dir    string
	copied string
	// over ends with the store that is replaced.
	over context.Context
	end  context.CancelFunc
}

func openLagging(t *testing.T) *lagging {
	t.Helper()
	r := &lagging{t: t, dir: t.TempDir()}
	r.engine = r.openAt(r.dir)
	return r
}

func (r *lagging) openAt(dir string) engine {
	r.t.Helper()
	s, err := filestore.Open(dir, filestore.Config{Sync: filestore.SyncOff})
	ok(r.t, err)
	r.t.Cleanup(func() { ok(r.t, s.Close()) })
	r.over, r.end = context.WithCancel(context.Background())
	r.t.Cleanup(r.end)
	return s
}

// detach makes the copy that [lagging.promote] goes back to.
func (r *lagging) detach() {
	r.t.Helper()
	synctest.Wait()
	r.copied = r.t.TempDir()
	ok(r.t, os.CopyFS(r.copied, os.DirFS(r.dir)))
}

// promote goes back to the copy. All links must be cut.
func (r *lagging) promote() {
	r.t.Helper()
	synctest.Wait()
	end := r.end
	r.dir = r.copied
	r.engine = r.openAt(r.dir)
	end()
	synctest.Wait()
}

// Partition does not ask the engine: the hub calls it while links are cut, and so while
// the engine is replaced. A file store has one partition.
func (r *lagging) Partition(wire.SessionID) int { return 0 }

func (r *lagging) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		over := r.over
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(over, cancel)()
		for news, err := range r.engine.Tail(limited, id, after) {
			if err != nil && ctx.Err() == nil && over.Err() != nil {
				break
			}
			if n := len(news.Events); n > 0 {
				after = news.Events[n-1].At
			}
			if !yield(news, err) || err != nil {
				return
			}
		}
		r.engine.Tail(ctx, id, after)(yield)
	}
}

func (r *lagging) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.over, cancel)()
		r.engine.Receive(limited, l)(yield)
	}
}

// link is a store as one replica reaches it.
type link struct {
	engine
	cut atomic.Bool
}

func (l *link) err() error {
	if l.cut.Load() {
		return store.ErrUnavailable
	}
	return nil
}

func (l *link) Claim(ctx context.Context, id wire.SessionID, r wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	if err := l.err(); err != nil {
		return store.Lease{}, err
	}
	return l.engine.Claim(ctx, id, r, ttl)
}

func (l *link) Renew(ctx context.Context, lease store.Lease) error {
	if err := l.err(); err != nil {
		return err
	}
	return l.engine.Renew(ctx, lease)
}

func (l *link) Commit(ctx context.Context, lease store.Lease, b store.Batch) (store.Receipt, error) {
	if err := l.err(); err != nil {
		return store.Receipt{}, err
	}
	return l.engine.Commit(ctx, lease, b)
}

func (l *link) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	if err := l.err(); err != nil {
		return store.Info{}, err
	}
	return l.engine.Session(ctx, id)
}

func (l *link) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	if err := l.err(); err != nil {
		return store.State{}, err
	}
	return l.engine.Load(ctx, id)
}

func (l *link) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	return l.engine.Read(ctx, id, after, limit)
}

func (l *link) Send(ctx context.Context, id wire.SessionID, c store.Command) (bool, error) {
	if err := l.err(); err != nil {
		return false, err
	}
	return l.engine.Send(ctx, id, c)
}

// failing is hubs on a store that fails over to a copy that lags.
type failing struct {
	*site
	store *lagging
	links []*link
}

func openFailing(t *testing.T) *failing {
	t.Helper()
	f := &failing{store: openLagging(t)}
	f.site = newSite(t, func(*testing.T) engine { return f.store })
	f.patience = 24 * time.Hour
	f.open = func(*testing.T) engine {
		f.links = append(f.links, &link{engine: f.store})
		return f.links[len(f.links)-1]
	}
	return f
}

// failOver goes back to the copy after an outage, and connects those hubs again that are
// named by their number.
func (f *failing) failOver(hubs ...int) {
	for _, l := range f.links {
		l.cut.Store(true)
	}
	time.Sleep(outage)
	f.store.promote()
	for _, n := range hubs {
		f.links[n].cut.Store(false)
	}
}
