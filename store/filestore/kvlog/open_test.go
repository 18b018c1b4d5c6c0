package kvlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// TestLock opens a folder twice.
func TestLock(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	l := openFor(t, dir, kvlog.Config{})
	_, err := kvlog.Open(dir, kvlog.Config{})
	is(t, err, kvlog.ErrLocked)
	host, hostErr := os.Hostname()
	ok(t, hostErr)
	for _, part := range []string{fmt.Sprint("process ", os.Getpid()), host, "since 2", dir} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
	put(t, l, "b", "key", "value")
	ok(t, l.Close())
	l = openFor(t, dir, kvlog.Config{})
	put(t, l, "b", "key", "value")
}

// TestFormat opens folders of other formats.
func TestFormat(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	l := openFor(t, dir, kvlog.Config{})
	put(t, l, "b", "key", "value")
	ok(t, l.Close())
	path := filepath.Join(dir, "FORMAT")
	good, err := os.ReadFile(path)
	ok(t, err)
	for what, text := range map[string]string{
		"a newer version":  strings.Replace(string(good), "kvlog 1", "kvlog 2", 1),
		"no version":       "hello\n",
		"version 0":        strings.Replace(string(good), "kvlog 1", "kvlog 0", 1),
		"no id":            "everdesk-kvlog 1\nid \n",
		"an id too short":  "everdesk-kvlog 1\nid 0011\n",
		"nothing":          "",
		"an id of letters": "everdesk-kvlog 1\nid " + strings.Repeat("x", 32) + "\n",
	} {
		ok(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := kvlog.Open(dir, kvlog.Config{})
		is(t, err, kvlog.ErrFormat)
		if newer := strings.Contains(err.Error(), "use a newer program"); newer != (what == "a newer version") {
			t.Errorf("%s is refused with %q, want the advice to use a newer program only for a newer version", what, err)
		}
	}
	ok(t, os.Remove(path))
	_, err = kvlog.Open(dir, kvlog.Config{})
	is(t, err, kvlog.ErrFormat)
	ok(t, os.WriteFile(path, good, 0o600))
	l = openFor(t, dir, kvlog.Config{})
	if got := read(t, l); !got.equal(content{"b": {"key": "value"}}) {
		t.Errorf("log holds %v, want the value of key", got)
	}
}

// TestForeignFiles are left alone.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	foreign := map[string]string{
		"README": "mine", "0000000g.seg": "mine", "00000001.SEG": "mine", "1.seg": "mine",
		"00000001.seg.bak": "mine", "0000000A.seg": "mine", "00000000.seg": "mine",
	}
	for name, text := range foreign {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ok(t, os.Mkdir(filepath.Join(dir, "00000002.seg"), 0o700))
	for i := range 3 {
		l := openFor(t, dir, kvlog.Config{})
		put(t, l, "b", strconv.Itoa(i), "value")
		if got := len(read(t, l)["b"]); got != i+1 {
			t.Errorf("log holds %d keys, want %d", got, i+1)
		}
		ok(t, l.Close())
	}
	for name, text := range foreign {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, error %v, want %q", name, got, err, text)
		}
	}
}

// TestNewFolder makes the folder with those above it.
func TestNewFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(quickDir(t), "a", "b", "c")
	for range 2 {
		l := openFor(t, dir, kvlog.Config{})
		put(t, l, "b", "key", "value")
		ok(t, l.Close())
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder is %v, error %v, want the mode 0700", info, err)
	}
	_, err := kvlog.Open(filepath.Join(dir, "LOCK", "below"), kvlog.Config{})
	if err == nil {
		t.Error("Open below a file gives no error, want one")
	}
}
