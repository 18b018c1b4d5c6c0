package kvlog

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The format file holds the version of the folder's format and the random id that all
// checksums of the log include.
const (
	formatFile = "FORMAT"
	formatText = "everdesk-kvlog %d\nid %s\n"
)

// openFormat reads the format file. It writes the file if the folder has neither a format
// file nor segments.
func openFormat(dir string, segments int) (id [16]byte, err error) {
	path := filepath.Join(dir, formatFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if segments > 0 {
			return id, fmt.Errorf("%w: %s has %d segments but no %s file; restore it from a backup", ErrFormat, dir, segments, formatFile)
		}
		_, _ = rand.Read(id[:]) // never fails
		return id, writeFile(path, fmt.Appendf(nil, formatText, formatVersion, hex.EncodeToString(id[:])))
	}
	if err != nil {
		return id, fmt.Errorf("read format: %w", err)
	}
	var version int
	var idText string
	if _, err := fmt.Sscanf(string(text), formatText, &version, &idText); version > formatVersion {
		return id, fmt.Errorf("%w: %s is of version %d, this program knows up to %d: use a newer program", ErrFormat, dir, version, formatVersion)
	} else if err != nil || version < 1 {
		return id, fmt.Errorf("%w: %s is not a format file", ErrFormat, path)
	}
	raw, err := hex.DecodeString(idText)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("%w: %s has no valid id", ErrFormat, path)
	}
	return [16]byte(raw), nil
}

// writeFile writes a small file atomically and durably.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), asNoSpace(err))
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", filepath.Base(path), asNoSpace(err))
	}
	return syncDir(filepath.Dir(path))
}
