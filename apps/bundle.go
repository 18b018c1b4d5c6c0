package apps

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/everdesk/everdesk/files"
)

// Bounds of an app's folder.
const (
	// MaxFiles bounds the files of an app, and MaxBytes their size together.
	MaxFiles = 100
	MaxBytes = 4 << 20
)

// Bundle is the folder of an app in memory.
type Bundle struct {
	Manifest Manifest
	// Files has the content of all files by name, with slashes, including app.json.
	Files map[string][]byte
}

// Page returns the document of the app, or nil if it must be compiled first.
func (b Bundle) Page() []byte { return b.Files[PageFile] }

// WithPage returns the bundle with its compiled document.
func (b Bundle) WithPage(page []byte) Bundle {
	b.Files = maps.Clone(b.Files)
	b.Files[PageFile] = page
	return b
}

// Skill returns what agents should know about the app, or "".
func (b Bundle) Skill() string { return string(b.Files[SkillFile]) }

// ReadFolder reads the folder of an app. It refuses links and everything else that is not a
// regular file.
func ReadFolder(folder fs.FS) (Bundle, error) {
	all, err := readFiles(folder)
	if err != nil {
		return Bundle{}, err
	}
	return NewBundle(all)
}

// NewBundle returns the app that some files are.
func NewBundle(all map[string][]byte) (Bundle, error) {
	b := Bundle{Files: all}
	if err := checkFiles(all); err != nil {
		return b, err
	}
	data, ok := all[ManifestFile]
	if !ok {
		return b, fmt.Errorf("%w: there is no %s", ErrManifest, ManifestFile)
	}
	var err error
	if b.Manifest, err = ParseManifest(data); err != nil {
		return b, err
	}
	if icon := b.Manifest.IconFile(); icon != "" && all[icon] == nil {
		return b, fmt.Errorf("%w: icon: there is no file %q", ErrManifest, icon)
	}
	return b, nil
}

// readFiles reads all files below a folder.
func readFiles(folder fs.FS) (map[string][]byte, error) {
	all := map[string][]byte{}
	left := int64(MaxBytes)
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%w: %q is not a regular file", files.ErrName, name)
		case len(all) >= MaxFiles:
			return fmt.Errorf("%w: an app has at most %d files", ErrFull, MaxFiles)
		}
		data, err := readNamed(folder, name, left)
		left -= int64(len(data))
		all[name] = data
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read app: %w", err)
	}
	return all, nil
}

// readNamed reads a file of at most most bytes.
func readNamed(folder fs.FS, name string, most int64) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return readBounded(f, name, most)
}

// checkFiles refuses files with unsafe names, and too many or too large ones. Names that differ
// only in case would be one file on some systems.
func checkFiles(all map[string][]byte) error {
	sizes := map[string]int64{}
	for name, data := range all {
		sizes[name] = int64(len(data))
	}
	return checkSizes(sizes)
}

// checkSizes is [checkFiles] for files of which only the sizes are known.
func checkSizes(all map[string]int64) error {
	if len(all) > MaxFiles {
		return fmt.Errorf("%w: an app has at most %d files", ErrFull, MaxFiles)
	}
	size := int64(0)
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := files.CheckName(name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		folded := strings.Map(foldRune, name)
		if other, ok := seen[folded]; ok {
			return fmt.Errorf("%w: %q and %q differ only in case", files.ErrName, other, name)
		}
		seen[folded] = name
		for i := range len(folded) {
			if folded[i] == '/' && seen[folded[:i]] != "" {
				return fmt.Errorf("%w: %q is a file and a folder", files.ErrName, name[:i])
			}
		}
		if size += all[name]; size > MaxBytes {
			return fmt.Errorf("%w: an app has at most %d bytes", ErrTooLarge, MaxBytes)
		}
	}
	return nil
}

// foldRune returns the same character for all that differ only in case, such as s, S and ſ.
func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// notFound converts the error for a missing file.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}
