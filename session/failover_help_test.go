package session_test

import (
	"bytes"
	"context"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// laggingStore is a store that can be replaced by an older copy of itself, as a failover to a
// lagging replica does.
type laggingStore struct {
	agentStore // replaced while no calls but Tail and Receive run
	t          *testing.T
	dir        string
	copyDir    string
	// storeCtx ends when the present store is replaced.
	storeCtx    context.Context
	cancelStore context.CancelFunc
}

func openLaggingStore(t *testing.T) *laggingStore {
	t.Helper()
	r := &laggingStore{t: t, dir: t.TempDir()}
	r.agentStore = r.openAt(r.dir)
	return r
}

func (r *laggingStore) openAt(dir string) agentStore {
	r.t.Helper()
	s, err := filestore.Open(dir, filestore.Config{Sync: filestore.SyncOff})
	requireNoError(r.t, err)
	r.t.Cleanup(func() { requireNoError(r.t, s.Close()) })
	r.storeCtx, r.cancelStore = context.WithCancel(context.Background())
	r.t.Cleanup(r.cancelStore)
	return joinFile(s)
}

// takeCopy makes the copy that [laggingStore.revertToCopy] uses.
func (r *laggingStore) takeCopy() {
	r.t.Helper()
	synctest.Wait()
	r.copyDir = r.t.TempDir()
	requireNoError(r.t, os.CopyFS(r.copyDir, os.DirFS(r.dir)))
}

// revertToCopy replaces the store by the copy. All links must be cut.
func (r *laggingStore) revertToCopy() {
	r.t.Helper()
	synctest.Wait()
	end := r.cancelStore
	r.dir = r.copyDir
	r.agentStore = r.openAt(r.dir)
	end()
	synctest.Wait()
}

// Partition does not call the store: the hub calls it while links are cut and the store is being
// replaced. A file store has one partition.
func (r *laggingStore) Partition(wire.SessionID) int { return 0 }

func (r *laggingStore) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		over := r.storeCtx
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(over, cancel)()
		for news, err := range r.agentStore.Tail(limited, id, after) {
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
		r.agentStore.Tail(ctx, id, after)(yield)
	}
}

func (r *laggingStore) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.storeCtx, cancel)()
		r.agentStore.Receive(limited, l)(yield)
	}
}

// storeLink is the connection of one replica to a store.
type storeLink struct {
	agentStore
	cut  atomic.Bool
	deaf atomic.Bool // Receive yields nothing
	// failLoads is the number of calls of Load that fail.
	failLoads atomic.Int32
	// loseClaims is the number of claims that are executed and whose answers are lost.
	loseClaims atomic.Int32
	lost       atomic.Bool // Send succeeds, and a failover loses the command at once

	mu       sync.Mutex // guards the following
	sent     []store.Command
	consumed map[string]int // how often committed batches consumed a delivery
}

// recordSent records commands that the store has accepted.
func (l *storeLink) recordSent(commands []store.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, commands...)
}

// recordConsumed records the deliveries that a batch has consumed.
func (l *storeLink) recordConsumed(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.consumed == nil {
		l.consumed = map[string]int{}
	}
	for _, id := range ids {
		l.consumed[id]++
	}
}

// sentMessages returns the messages of clients that were sent through the link.
func (l *storeLink) sentMessages() (messages []store.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.sent {
		if bytes.Contains(c.Data, []byte(`"message":`)) {
			messages = append(messages, c)
		}
	}
	return messages
}

// timesConsumed returns how often batches of the link consumed a delivery.
func (l *storeLink) timesConsumed(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.consumed[id]
}

func (l *storeLink) err() error {
	if l.cut.Load() {
		return store.ErrUnavailable
	}
	return nil
}

func (l *storeLink) ClaimShared(ctx context.Context, id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	if err := l.err(); err != nil {
		return store.Lease{}, err
	}
	lease, err := l.agentStore.ClaimShared(ctx, id, by, ttl)
	if err == nil && l.loseClaims.Add(-1) >= 0 {
		return store.Lease{}, store.ErrUnavailable
	}
	return lease, err
}

func (l *storeLink) RenewShared(ctx context.Context, by store.Incarnation, partition int, ttl time.Duration) (store.Renewal, error) {
	if err := l.err(); err != nil {
		return store.Renewal{}, err
	}
	return l.agentStore.RenewShared(ctx, by, partition, ttl)
}

func (l *storeLink) Commit(ctx context.Context, lease store.Lease, b store.Batch) (store.Receipt, error) {
	if err := l.err(); err != nil {
		return store.Receipt{}, err
	}
	r, err := l.agentStore.Commit(ctx, lease, b)
	if err == nil {
		l.recordConsumed(b.Consumed)
	}
	return r, err
}

func (l *storeLink) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	if err := l.err(); err != nil {
		return store.Info{}, err
	}
	return l.agentStore.Session(ctx, id)
}

func (l *storeLink) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	if err := l.err(); err != nil {
		return store.State{}, err
	}
	if l.failLoads.Add(-1) >= 0 {
		return store.State{}, store.ErrUnavailable
	}
	return l.agentStore.Load(ctx, id)
}

func (l *storeLink) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	return l.agentStore.Read(ctx, id, after, limit)
}

func (l *storeLink) Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		l.agentStore.Receive(ctx, lease)(func(c []store.Command, err error) bool {
			return l.deaf.Load() && err == nil || yield(c, err)
		})
	}
}

func (l *storeLink) Send(ctx context.Context, id wire.SessionID, commands ...store.Command) ([]bool, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	if l.lost.Load() {
		return make([]bool, len(commands)), nil
	}
	duplicates, err := l.agentStore.Send(ctx, id, commands...)
	l.recordSent(commands[:len(duplicates)])
	return duplicates, err
}

// failoverDeployment is a deployment whose store fails over to a lagging copy.
type failoverDeployment struct {
	*deployment
	store *laggingStore
	links []*storeLink
	// errorLog has the errors that the hubs of newFencedOwner logged; it is read while they are idle.
	errorLog bytes.Buffer
}

func newFailoverDeployment(t *testing.T) *failoverDeployment {
	t.Helper()
	f := &failoverDeployment{store: openLaggingStore(t)}
	f.deployment = newDeployment(t, func(*testing.T) agentStore { return f.store })
	f.waitLimit = 24 * time.Hour
	f.openStore = func(*testing.T) agentStore {
		f.links = append(f.links, &storeLink{agentStore: f.store})
		return f.links[len(f.links)-1]
	}
	return f
}

// failOver reverts to the copy after an outage, and reconnects the hubs with the given numbers.
func (f *failoverDeployment) failOver(hubs ...int) {
	for _, l := range f.links {
		l.cut.Store(true)
	}
	time.Sleep(outage)
	f.store.revertToCopy()
	for _, n := range hubs {
		f.links[n].cut.Store(false)
	}
}
