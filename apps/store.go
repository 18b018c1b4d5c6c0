package apps

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/files"
)

// MaxApps bounds the apps of a user.
const MaxApps = 50

// Names in the folder of a user.
const (
	appsFolder    = "apps"
	currentFile   = "current" // in the folder of an app: the name of the version in use
	versionPrefix = "v-"
)

// readTries bounds how often a reader starts again because a new version was deployed meanwhile.
const readTries = 50

// App is an app of a user.
type App struct {
	ID string
	Manifest
	HasSkill bool
	// HasCredentials says that the app has a file credentials.json.
	HasCredentials bool
	Deployed       time.Time
}

// Store holds the apps of all users. [Open] returns one.
type Store struct {
	root *os.Root
	seed maphash.Seed
	// locks serialise the changes of a user. Users are hashed to them.
	locks [64]sync.Mutex
	// pause, unless nil, is called between the steps of a deployment, for tests.
	pause func(step string)
}

// Open returns the store in a folder, which is created if it does not exist. Replicas that serve
// the same users need the same folder.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder for apps: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder for apps: %w", err)
	}
	return &Store{root: root, seed: maphash.MakeSeed()}, nil
}

// Close releases the folder.
func (s *Store) Close() error { return s.root.Close() }

func (s *Store) lock(user string) (done func()) {
	m := &s.locks[maphash.String(s.seed, user)%uint64(len(s.locks))]
	m.Lock()
	return m.Unlock
}

// userRoot opens the folder of a user as a root of its own, so that not even a link leads to
// another user. Names of users may have any characters, so that the folder has a hash as its name.
func (s *Store) userRoot(user string, create bool) (*os.Root, error) {
	if user == "" {
		return nil, fmt.Errorf("%w: the session belongs to no user, so that it has no apps", ErrNotFound)
	}
	sum := sha256.Sum256([]byte(user))
	name := hex.EncodeToString(sum[:16])
	if create {
		if err := s.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create folder of apps: %w", err)
		}
	}
	if info, err := s.root.Lstat(name); err != nil {
		return nil, notFound(err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%w: the folder of apps is not a folder", files.ErrName)
	}
	root, err := s.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open folder of apps: %w", err)
	}
	return root, nil
}

// closeRoot closes a user's folder. An error loses no data, because the root is only a handle.
func closeRoot(root *os.Root) { _ = root.Close() }

func appFolder(id string) string { return path.Join(appsFolder, id) }

// List returns the apps of a user, in the order of their ids. An app that cannot be read does not
// keep the others from being listed: the error names it.
func (s *Store) List(user string) ([]App, error) {
	root, err := s.userRoot(user, false)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeRoot(root)
	entries, err := fs.ReadDir(root.FS(), appsFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	var all []App
	var wrong []error
	for _, e := range entries {
		if !e.IsDir() || CheckID(e.Name()) != nil {
			continue
		}
		a, err := readApp(root, e.Name())
		switch {
		case errors.Is(err, ErrNotFound): // only its data is there, or it was removed meanwhile
		case err != nil:
			wrong = append(wrong, fmt.Errorf("app %s: %w", e.Name(), err))
		default:
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b App) int { return cmp.Compare(a.ID, b.ID) })
	return all, errors.Join(wrong...)
}

// readApp reads what is listed of an app.
func readApp(root *os.Root, id string) (a App, err error) {
	err = withVersion(root, id, func(folder string) error {
		data, err := readFile(root, path.Join(folder, ManifestFile), maxManifest)
		if err != nil {
			return err
		}
		m, err := ParseManifest(data)
		if err != nil {
			return err
		}
		a = App{ID: id, Manifest: m}
		_, noSkill := root.Lstat(path.Join(folder, SkillFile))
		_, noCredentials := root.Lstat(path.Join(appFolder(id), dataFolder, credentialsFile))
		a.HasSkill, a.HasCredentials = noSkill == nil, noCredentials == nil
		if info, err := root.Lstat(path.Join(appFolder(id), currentFile)); err == nil {
			a.Deployed = info.ModTime()
		}
		return nil
	})
	return a, err
}

// currentVersion returns the name of the version in use. It is [ErrNotFound] without an app.
func currentVersion(root *os.Root, id string) (string, error) {
	data, err := readFile(root, path.Join(appFolder(id), currentFile), 100)
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
func withVersion(root *os.Root, id string, read func(folder string) error) error {
	version, err := currentVersion(root, id)
	for range readTries {
		if err != nil {
			return err
		}
		before := version
		failed := read(path.Join(appFolder(id), before))
		if version, err = currentVersion(root, id); version == before {
			return failed
		}
	}
	return fmt.Errorf("%w: the app %q is replaced all the time", ErrNotFound, id)
}

// reading calls read with the folder of the version of an app that is in use.
func (s *Store) reading(user, id string, read func(root *os.Root, folder string) error) error {
	if err := CheckID(id); err != nil {
		return err
	}
	root, err := s.userRoot(user, false)
	if err == nil {
		defer closeRoot(root)
		err = withVersion(root, id, func(folder string) error { return read(root, folder) })
	}
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: there is no app %q, or it has no such file", ErrNotFound, id)
	}
	return err
}

// Get returns an app of a user with all its files.
func (s *Store) Get(user, id string) (b Bundle, err error) {
	err = s.reading(user, id, func(root *os.Root, folder string) error {
		sub, err := root.OpenRoot(folder)
		if err != nil {
			return notFound(err)
		}
		defer closeRoot(sub)
		b, err = ReadFolder(sub.FS())
		return notFound(err)
	})
	return b, err
}

// File returns a file of an app.
func (s *Store) File(user, id, name string) (data []byte, err error) {
	if err := files.CheckName(name); err != nil {
		return nil, err
	}
	err = s.reading(user, id, func(root *os.Root, folder string) error {
		data, err = readFile(root, path.Join(folder, name), MaxBytes)
		return err
	})
	return data, err
}

// Deploy stores an app, or a new version of it. A reader sees the old or the new version, and so
// does every reader after a process was killed.
func (s *Store) Deploy(user, id string, b Bundle) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if err := checkFiles(b.Files); err != nil {
		return err
	}
	if b.Page() == nil {
		return fmt.Errorf("%w: there is no %s", ErrManifest, PageFile)
	}
	defer s.lock(user)()
	root, err := s.userRoot(user, true)
	if err != nil {
		return err
	}
	defer closeRoot(root)
	old, err := currentVersion(root, id)
	if errors.Is(err, ErrNotFound) {
		err = s.checkCount(root)
	}
	if err != nil {
		return err
	}
	version := versionPrefix + strings.ToLower(rand.Text())
	if err := s.writeVersion(root, path.Join(appFolder(id), version), b.Files); err != nil {
		return errors.Join(err, root.RemoveAll(path.Join(appFolder(id), version)))
	}
	s.beforeStep("written")
	if err := writeFile(root, path.Join(appFolder(id), currentFile), []byte(version)); err != nil {
		return errors.Join(err, root.RemoveAll(path.Join(appFolder(id), version)))
	}
	s.beforeStep("published")
	return removeOld(root, id, old)
}

func (s *Store) beforeStep(name string) {
	if s.pause != nil {
		s.pause(name)
	}
}

// checkCount refuses one more app. Apps without a version, of which only data is there, do not
// count.
func (s *Store) checkCount(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), appsFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("count apps: %w", err)
	}
	if len(entries) >= MaxApps {
		return fmt.Errorf("%w: a user has at most %d apps", ErrFull, MaxApps)
	}
	return nil
}

func (s *Store) writeVersion(root *os.Root, folder string, all map[string][]byte) error {
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create folder of the app: %w", err)
	}
	for name, data := range all {
		to := path.Join(folder, name)
		if err := root.MkdirAll(path.Dir(to), 0o700); err != nil {
			return fmt.Errorf("create folder of the app: %w", err)
		}
		if err := writeNew(root, to, data); err != nil {
			return err
		}
		s.beforeStep("file")
	}
	return nil
}

// removeOld removes the version that was replaced, and what killed processes left.
func removeOld(root *os.Root, id, old string) error {
	if old != "" {
		if err := root.RemoveAll(path.Join(appFolder(id), old)); err != nil {
			return fmt.Errorf("remove old version: %w", err)
		}
	}
	current, err := currentVersion(root, id)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), appFolder(id))
	if err != nil {
		return fmt.Errorf("list versions: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), versionPrefix) || e.Name() == current || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if err := root.RemoveAll(path.Join(appFolder(id), e.Name())); err != nil {
			return fmt.Errorf("remove unfinished version: %w", err)
		}
	}
	return removeStale(root)
}

// Remove removes an app with its data.
func (s *Store) Remove(user, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	defer s.lock(user)()
	root, err := s.userRoot(user, false)
	if err == nil {
		defer closeRoot(root)
		_, err = currentVersion(root, id)
	}
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: there is no app %q", ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	// Without this file there is no app, so that a killed process leaves all of it or none.
	if err := root.Remove(path.Join(appFolder(id), currentFile)); err != nil {
		return fmt.Errorf("remove app: %w", notFound(err))
	}
	s.beforeStep("unlisted")
	if err := root.RemoveAll(appFolder(id)); err != nil {
		return fmt.Errorf("remove files of the app: %w", err)
	}
	return nil
}
