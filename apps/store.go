package apps

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/files"
)

// MaxApps bounds the apps of a user.
const MaxApps = 50

// Names of what a user has.
const (
	appsFolder    = "apps"
	currentFile   = "current" // in the folder of an app: the name of the version in use
	versionPrefix = "v-"
)

// readTries bounds how often a reader starts again because a new version was deployed meanwhile.
const readTries = 50

// staleAfter is the age after which what a killed process left is removed. It is much longer than
// a deployment takes, because another replica may be writing.
const staleAfter = time.Hour

// App is an app of a user.
type App struct {
	ID string
	Manifest
	HasSkill bool
	// HasCredentials says that the app has a file credentials.json.
	HasCredentials bool
	Deployed       time.Time
}

// Store holds the apps of all users. Create it with [New].
type Store struct {
	backend files.Backend
	seed    maphash.Seed
	// locks serialise the changes of a user. Users are hashed to them.
	locks [64]sync.Mutex
	known known
	// changed is called after an app was deployed or removed; nil means that nothing needs to know.
	changed func(ctx context.Context, user, id string)
	// pause, unless nil, is called between the steps of a deployment, for tests.
	pause func(step string)
}

// New returns the store in a backend. Replicas that serve the same users need the same backend. changed, unless nil, is
// called after an app was deployed or removed.
func New(b files.Backend, changed func(ctx context.Context, user, id string)) *Store {
	return &Store{backend: b, changed: changed, seed: maphash.MakeSeed()}
}

func (s *Store) lock(user string) (done func()) {
	m := &s.locks[maphash.String(s.seed, user)%uint64(len(s.locks))]
	m.Lock()
	return m.Unlock
}

func appFolder(id string) string { return path.Join(appsFolder, id) }

// List returns the apps of a user, in the order of their ids. An app that cannot be read does not
// keep the others from being listed: the error names it.
func (s *Store) List(ctx context.Context, user string) ([]App, error) {
	o, err := s.objectsOf(user)
	if err != nil {
		return nil, nil //nolint:nilerr // without a user there are no apps
	}
	entries, err := o.list(ctx, appsFolder)
	if err != nil {
		return nil, err
	}
	inUse := map[string]files.Entry{}
	credentials := map[string]bool{}
	for _, e := range entries {
		id, name, _ := strings.Cut(strings.TrimPrefix(e.Path, appsFolder+"/"), "/")
		switch name {
		case currentFile:
			inUse[id] = e
		case dataFolder + "/" + credentialsFile:
			credentials[id] = true
		}
	}
	var all []App
	var wrong []error
	for _, id := range slices.Sorted(maps.Keys(inUse)) {
		if CheckID(id) != nil {
			continue
		}
		a, err := s.listed(ctx, o, id, inUse[id])
		switch {
		case errors.Is(err, ErrNotFound): // it was removed meanwhile
		case err != nil:
			wrong = append(wrong, fmt.Errorf("app %s: %w", id, err))
		default:
			a.HasCredentials = credentials[id]
			all = append(all, a)
		}
	}
	return all, errors.Join(wrong...)
}

// listed returns what is listed of an app, but not whether it has credentials. current is the entry of the file that
// names its version.
func (s *Store) listed(ctx context.Context, o objects, id string, current files.Entry) (App, error) {
	key := path.Join(string(o.user), id, current.ETag)
	if a, ok := s.known.get(key); ok {
		return a, nil
	}
	a, err := readApp(ctx, o, id)
	if err == nil {
		a.Deployed = current.Modified
		s.known.set(key, a)
	}
	return a, err
}

// readApp reads what is listed of an app.
func readApp(ctx context.Context, o objects, id string) (a App, err error) {
	err = withVersion(ctx, o, id, func(folder string) error {
		data, _, err := o.read(ctx, path.Join(folder, ManifestFile), maxManifest)
		if err != nil {
			return err
		}
		m, err := ParseManifest(data)
		if err != nil {
			return err
		}
		all, err := o.list(ctx, folder)
		skill := func(e files.Entry) bool { return e.Path == path.Join(folder, SkillFile) }
		a = App{ID: id, Manifest: m, HasSkill: slices.ContainsFunc(all, skill)}
		return err
	})
	return a, err
}

// currentVersion returns the name of the version in use. It is [ErrNotFound] without an app.
func currentVersion(ctx context.Context, o objects, id string) (string, error) {
	data, _, err := o.read(ctx, path.Join(appFolder(id), currentFile), 100)
	if err != nil {
		return "", err
	}
	name := string(data)
	if !strings.HasPrefix(name, versionPrefix) || files.CheckName(name) != nil || strings.Contains(name, "/") {
		return "", fmt.Errorf("%w: the version %q of the app is invalid", files.ErrName, name)
	}
	return name, nil
}

// withVersion calls read with the folder of the version in use, again if that version was replaced
// meanwhile: its files are removed then, so read may have seen a part of them.
func withVersion(ctx context.Context, o objects, id string, read func(folder string) error) error {
	version, err := currentVersion(ctx, o, id)
	for range readTries {
		if err != nil {
			return err
		}
		before := version
		failed := read(path.Join(appFolder(id), before))
		if version, err = currentVersion(ctx, o, id); version == before {
			return failed
		}
	}
	return fmt.Errorf("%w: the app %q is replaced all the time", ErrNotFound, id)
}

// reading calls read with the folder of the version of an app that is in use.
func (s *Store) reading(ctx context.Context, user, id string, read func(o objects, folder string) error) error {
	if err := CheckID(id); err != nil {
		return err
	}
	o, err := s.objectsOf(user)
	if err == nil {
		err = withVersion(ctx, o, id, func(folder string) error { return read(o, folder) })
	}
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: there is no app %q, or it has no such file", ErrNotFound, id)
	}
	return err
}

// Get returns an app of a user with all its files.
func (s *Store) Get(ctx context.Context, user, id string) (b Bundle, err error) {
	err = s.reading(ctx, user, id, func(o objects, folder string) error {
		all, err := o.readAll(ctx, folder)
		if err == nil {
			b, err = NewBundle(all)
		}
		return err
	})
	return b, err
}

// File returns a file of an app.
func (s *Store) File(ctx context.Context, user, id, name string) (data []byte, err error) {
	if err := files.CheckName(name); err != nil {
		return nil, err
	}
	err = s.reading(ctx, user, id, func(o objects, folder string) error {
		data, _, err = o.read(ctx, path.Join(folder, name), MaxBytes)
		return err
	})
	return data, err
}

// Deploy stores an app, or a new version of it. A reader sees the old or the new version, and so
// does every reader after a process was killed.
func (s *Store) Deploy(ctx context.Context, user, id string, b Bundle) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if err := checkFiles(b.Files); err != nil {
		return err
	}
	if b.Page() == nil {
		return fmt.Errorf("%w: there is no %s", ErrManifest, PageFile)
	}
	o, err := s.objectsOf(user)
	if err != nil {
		return err
	}
	defer s.lock(user)()
	old, err := currentVersion(ctx, o, id)
	if errors.Is(err, ErrNotFound) {
		err = checkCount(ctx, o)
	}
	if err != nil {
		return err
	}
	version := versionPrefix + strings.ToLower(rand.Text())
	folder := path.Join(appFolder(id), version)
	for name, data := range b.Files {
		if err := o.write(ctx, path.Join(folder, name), data, files.Condition{}); err != nil {
			return errors.Join(err, o.cleanUp(ctx, folder))
		}
		s.beforeStep("file")
	}
	s.beforeStep("written")
	if err := o.write(ctx, path.Join(appFolder(id), currentFile), []byte(version), files.Condition{}); err != nil {
		return fmt.Errorf("use the new version: %w", err) // its files stay for a while: the write may have succeeded
	}
	s.notify(ctx, user, id)
	s.beforeStep("published")
	return removeOld(ctx, o, id, old)
}

func (s *Store) notify(ctx context.Context, user, id string) {
	if s.changed != nil {
		s.changed(ctx, user, id)
	}
}

func (s *Store) beforeStep(name string) {
	if s.pause != nil {
		s.pause(name)
	}
}

// checkCount refuses one more app. Apps without a version, of which only data is there, do not
// count.
func checkCount(ctx context.Context, o objects) error {
	entries, err := o.list(ctx, appsFolder)
	if err != nil {
		return err
	}
	count := 0
	for _, e := range entries {
		if isCurrent(e) {
			count++
		}
	}
	if count >= MaxApps {
		return fmt.Errorf("%w: a user has at most %d apps", ErrFull, MaxApps)
	}
	return nil
}

// removeOld removes the version that was replaced, and what killed processes left.
func removeOld(ctx context.Context, o objects, id, old string) error {
	if old != "" {
		if err := o.remove(ctx, path.Join(appFolder(id), old)); err != nil {
			return fmt.Errorf("remove old version: %w", err)
		}
	}
	current, err := currentVersion(ctx, o, id)
	if err != nil {
		return err
	}
	entries, err := o.list(ctx, appFolder(id))
	if err != nil {
		return err
	}
	for version, changed := range lastChanges(entries, appFolder(id)) {
		if !strings.HasPrefix(version, versionPrefix) || version == current || time.Since(changed) < staleAfter {
			continue
		}
		if err := o.remove(ctx, path.Join(appFolder(id), version)); err != nil {
			return fmt.Errorf("remove unfinished version: %w", err)
		}
	}
	return nil
}

// lastChanges returns when something in each of the folders in a folder has changed last.
func lastChanges(entries []files.Entry, folder string) map[string]time.Time {
	last := map[string]time.Time{}
	for _, e := range entries {
		name, _, below := strings.Cut(strings.TrimPrefix(e.Path, folder+"/"), "/")
		if below && e.Modified.After(last[name]) {
			last[name] = e.Modified
		}
	}
	return last
}

// Remove removes an app with its data.
func (s *Store) Remove(ctx context.Context, user, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	defer s.lock(user)()
	o, err := s.objectsOf(user)
	if err == nil {
		_, err = currentVersion(ctx, o, id)
	}
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: there is no app %q", ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	// Without this file there is no app, so that a killed process leaves all of it or none.
	if err := o.remove(ctx, path.Join(appFolder(id), currentFile)); err != nil {
		return err
	}
	s.notify(ctx, user, id)
	s.beforeStep("unlisted")
	return o.remove(ctx, appFolder(id))
}

// maxKnown bounds the apps of all users whose manifests are kept in memory.
const maxKnown = 2000

// known has what is listed of apps, by user, id and version: a version does not change. Agents list the apps of their
// user before every turn. The zero value is empty.
type known struct {
	mu sync.Mutex // guards by
	by map[string]App
}

func (k *known) get(key string) (App, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, ok := k.by[key]
	return a, ok
}

func (k *known) set(key string, a App) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil || len(k.by) >= maxKnown {
		k.by = map[string]App{}
	}
	k.by[key] = a
}
