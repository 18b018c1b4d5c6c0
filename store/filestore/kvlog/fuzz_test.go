package kvlog_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// FuzzRecord decodes anything: no panic, nothing beyond the data, and a record
// that is taken is found again by whoever looks for one.
func FuzzRecord(f *testing.F) {
	b := kvlog.NewBatch("bucket")
	b.Put("key", []byte("value"))
	b.Delete("other")
	b.DeleteRange("a", "b")
	f.Add(kvlog.AppendRecord(b, 1, 44), int64(44))
	f.Add(kvlog.AppendRecord(kvlog.Drop("bucket"), 7, 0), int64(0))
	f.Add(bytes.Repeat([]byte{0x5e, 0x0c, 0xb1, 0xed}, 20), int64(4))
	f.Fuzz(func(t *testing.T, data []byte, off int64) {
		size, err := kvlog.ReadRecord(data, off)
		if err == nil && size > int64(len(data)) {
			t.Fatalf("record of %d bytes was read from %d, want at most all of them", size, len(data))
		}
		if err == nil && off == 0 && kvlog.Resync(data, 0) != 0 {
			t.Fatal("Resync does not find the record at 0, want 0")
		}
		if at := kvlog.Resync(data, 0); at >= int64(len(data)) {
			t.Fatalf("Resync found a record at %d of %d bytes, want a smaller offset", at, len(data))
		}
	})
}

// FuzzOpen opens folders whose only segment ends in anything.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	l, err := kvlog.Open(dir, kvlog.Config{})
	if err != nil {
		f.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		b := kvlog.NewBatch("bucket")
		b.Put(key, []byte("value"))
		if err := l.Apply(b); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	const name = "00000001.seg"
	format, err := os.ReadFile(filepath.Join(dir, "FORMAT"))
	if err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(len(good)), []byte{})
	f.Add(uint16(60), []byte("garbage"))
	f.Add(uint16(100), good[100:])
	f.Fuzz(func(t *testing.T, keep uint16, tail []byte) {
		data := append(bytes.Clone(good[:min(int(keep), len(good))]), tail...)
		l := openFor(t, restore(t, map[string][]byte{"FORMAT": format, name: data}), kvlog.Config{Sync: kvlog.SyncOff})
		for key, value := range read(t, l)["bucket"] {
			if value != "value" || len(key) != 1 {
				t.Fatalf(`key %q is %q, want a key of one letter with "value"`, key, value)
			}
		}
		put(t, l, "bucket", "d", "value")
	})
}
